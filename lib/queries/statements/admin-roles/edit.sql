-- POST /admin-roles/edit/{id}
select status, caller_id, body, clock
from release.make_change ('edit_role', :1::json);
-- :1 = '{"id":"17d1de60-eb09-4eeb-897f-29ebb09baf8e","key":"…","endpoint":"admin-roles/edit","target":4,"input":{"name":"Moderator","description":"Looks after the accounts of users, and closes them","added_permissions":[3,4],"removed_permissions":[]},"digest":"096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d","user_missing":401,"begin_by":"…","wait_until":"…"}'
