-- POST /admin-contributors/update-avatar/{id}
select status, caller_id, body, clock
from release.make_change ('prepare_avatar', :1::json);
-- :1 = '{"id":"b8162fb8-48f3-4eda-82f8-d68ee66ca2c7","key":"…","endpoint":"admin-contributors/update-avatar","target":1,"input":{"key":"…"},"digest":"096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d","user_missing":401,"begin_by":"…","wait_until":"…"}'
