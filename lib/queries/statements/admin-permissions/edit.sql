-- POST /admin-permissions/edit/{id}
select status, caller_id, body, clock
from release.make_change ('edit_permission', :1::json);
-- :1 = '{"id":"eb2df8f1-250c-4691-88ca-16055511d5c0","key":"…","endpoint":"admin-permissions/edit","target":15,"input":{"name":"delete-contributors","description":"Delete contributors with everything that belongs to them","key":"…"},"digest":"096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d","user_missing":401,"begin_by":"…","wait_until":"…"}'
