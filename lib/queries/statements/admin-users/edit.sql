-- POST /admin-users/edit/{id}
select status, caller_id, body, clock
from release.make_change ('edit_user', :1::json);
-- :1 = '{"id":"b1847310-df4b-4d07-8281-d4e401f7ee64","key":"…","endpoint":"admin-users/edit","target":7,"input":{"username":"Night Train","age_verified":true,"added_roles":[3],"removed_roles":[1]},"digest":"096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d","user_missing":404,"begin_by":"…","wait_until":"…"}'
