-- DELETE /admin-contributors/lock/{id}
select status, caller_id, body, clock
from release.make_change ('release_contributor_lock', :1::json);
-- :1 = '{"id":"42883b26-abcd-40d2-b992-fce91ab7e976","key":"…","endpoint":"admin-contributors/lock","target":5,"input":{},"digest":"096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d","user_missing":401,"begin_by":"…","wait_until":"…"}'
