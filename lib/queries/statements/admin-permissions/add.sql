-- POST /admin-permissions/add
select status, caller_id, body, clock
from release.make_change ('add_permission', :1::json);
-- :1 = '{"id":"78ee15e9-372b-47d7-8933-037e282249ac","key":"…","endpoint":"admin-permissions/add","target":null,"input":{"name":"moderate-comments","description":"Hide comments of the website''s readers"},"digest":"096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d","user_missing":401,"begin_by":"…","wait_until":"…"}'
