-- POST /sign-out
select status, caller_id, body, clock
from release.make_change ('sign_out', :1::json);
-- :1 = '{"key":"…","id":"8e0f7f1e-5d0a-4f39-9b1d-5c2b4a3e6d77","endpoint":"sign-out","input":{},"digest":"64386ad38e8d436c2e732e213d04d915b6075044fa0274e7cb7681cce993aa8e","user_missing":401,"begin_by":"…","wait_until":"…"}'
