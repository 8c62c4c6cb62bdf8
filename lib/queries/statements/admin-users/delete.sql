-- DELETE /admin-users/delete/{id}
select status, caller_id, body, clock
from release.make_change ('delete_user', :1::json);
-- :1 = '{"id":"8ed36cd8-e9e7-4988-8bc2-c38aa4111d09","key":"…","endpoint":"admin-users/delete","target":13,"input":{},"digest":"096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d","user_missing":404,"begin_by":"…","wait_until":"…"}'
