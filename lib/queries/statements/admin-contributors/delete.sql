-- DELETE /admin-contributors/delete/{id}
select status, caller_id, body, clock
from release.make_change ('delete_contributor', :1::json);
-- :1 = '{"id":"1b0bdcf0-1261-4fe2-818a-4257bbdd74ad","key":"…","endpoint":"admin-contributors/delete","target":38,"input":{},"digest":"096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d","user_missing":401,"begin_by":"…","wait_until":"…"}'
