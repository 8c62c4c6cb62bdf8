-- DELETE /admin-permissions/delete/{id}
select status, caller_id, body, clock
from release.make_change ('delete_permission', :1::json);
-- :1 = '{"id":"1aecedc7-5e0c-4cdd-86c0-cd7c4e71ca71","key":"…","endpoint":"admin-permissions/delete","target":11,"input":{},"digest":"096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d","user_missing":401,"begin_by":"…","wait_until":"…"}'
