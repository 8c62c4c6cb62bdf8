-- POST /admin-contributors/add
select status, caller_id, body, clock
from release.make_change ('add_contributor', :1::json);
-- :1 = '{"id":"7e3429bb-4ade-419e-8421-85c7834b45f3","key":"…","endpoint":"admin-contributors/add","target":null,"input":{"first_name":"Tove","last_name":"Jansson-Example","disambiguation":"","sort_name":null,"slug":"tove-jansson-example"},"digest":"096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d","user_missing":401,"begin_by":"…","wait_until":"…"}'
