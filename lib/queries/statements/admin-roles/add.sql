-- POST /admin-roles/add
select status, caller_id, body, clock
from release.make_change ('add_role', :1::json);
-- :1 = '{"id":"f503e330-05e0-46d0-863a-26711e35fc7b","key":"…","endpoint":"admin-roles/add","target":null,"input":{"name":"Proofreader","description":"Reads what others have written about contributors"},"digest":"096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d","user_missing":401,"begin_by":"…","wait_until":"…"}'
