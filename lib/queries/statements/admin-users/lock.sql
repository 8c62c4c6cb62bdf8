-- DELETE /admin-users/lock/{id}
select status, caller_id, body, clock
from release.make_change ('release_user_lock', :1::json);
-- :1 = '{"id":"f79520a6-00d6-4c0b-9e56-57147c146a8a","key":"…","endpoint":"admin-users/lock","target":4,"input":{},"digest":"096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d","user_missing":404,"begin_by":"…","wait_until":"…"}'
