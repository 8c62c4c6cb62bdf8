-- DELETE /admin-users/delete-image/{id}
select status, caller_id, body, clock
from release.make_change ('set_user_image', :1::json);
-- :1 = '{"id":"1dad4012-a0e6-45eb-866a-4ddd0a69dbab","key":"…","endpoint":"admin-users/delete-image","target":7,"input":{},"digest":"096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d","user_missing":404,"begin_by":"…","wait_until":"…"}'
