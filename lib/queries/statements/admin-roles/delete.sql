-- DELETE /admin-roles/delete/{id}
select status, caller_id, body, clock
from release.make_change ('delete_role', :1::json);
-- :1 = '{"id":"708f7a8b-ec7d-414e-8cc2-620806cf500b","key":"…","endpoint":"admin-roles/delete","target":5,"input":{},"digest":"096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d","user_missing":401,"begin_by":"…","wait_until":"…"}'
