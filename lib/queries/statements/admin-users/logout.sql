-- POST /admin-users/logout/{id}
select status, caller_id, body, clock
from release.make_change ('log_out_user', :1::json);
-- :1 = '{"id":"55fb11e4-55ad-4d84-85bf-e714ad685382","key":"…","endpoint":"admin-users/logout","target":8,"input":{},"digest":"096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d","user_missing":404,"begin_by":"…","wait_until":"…"}'
