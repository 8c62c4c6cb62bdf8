-- slow: 1 hour
create index concurrently if not exists publishers_by_image on publishers (image) where image is not null;
