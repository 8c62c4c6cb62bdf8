-- DELETE /admin-contributors/delete-avatar/{id}
select status, caller_id, body, clock
from release.make_change ('set_avatar', :1::json);
-- :1 = '{"id":"4efb3c0f-5c48-41a5-8358-0bea6c03337f","key":"…","endpoint":"admin-contributors/delete-avatar","target":1,"input":{},"digest":"096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d","user_missing":401,"begin_by":"…","wait_until":"…"}'
