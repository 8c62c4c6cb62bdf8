-- slow: 1 hour
create index concurrently if not exists volumes_by_cover on volumes (cover) where cover is not null;
