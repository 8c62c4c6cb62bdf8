-- POST /admin-contributors/edit/{id}
select
  status,
  caller_id,
  body,
  clock
from
  release.make_change ('edit_contributor', :1::json);
-- :1 = '{"id":"1dca6af5-8e26-43a6-8cba-51d66f5ddae1","key":"…","kind":"contributors","endpoint":"admin-contributors/edit","target":5,"input":{"first_name":"Naoki","last_name":"Urasawa","gender":"male","type":"author and artist","links":["https://en.wikipedia.org/wiki/Naoki_Urasawa"],"public":true,"added_aliases":["Urasawa Naoki"],"removed_aliases":[],"added_descriptions":[{"description":"Auteur de manga, connu pour Monster et 20th Century Boys.","language":"French","source":"Wikipedia"}],"removed_descriptions":[],"modified_descriptions":[],"added_relations":[{"relation_id":1,"relation_type":"inspired by"}],"removed_relations":[],"modified_relations":[]},"digest":"096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d","permission":"edit-contributors","user_missing":401,"begin_by":"…","wait_until":"…"}'
