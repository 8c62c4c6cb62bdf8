-- POST /admin-users/update-image/{id}
select status, caller_id, body, clock
from release.make_change ('prepare_user_image', :1::json);
-- :1 = '{"id":"b60f8962-53b3-49b9-8c72-35862046577c","key":"…","endpoint":"admin-users/update-image","target":7,"input":{"key":"…"},"digest":"096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d","user_missing":404,"begin_by":"…","wait_until":"…"}'
