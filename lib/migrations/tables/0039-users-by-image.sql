-- slow: 1 hour
create index concurrently if not exists users_by_image on users (image) where image is not null;
