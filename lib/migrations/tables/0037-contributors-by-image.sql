-- slow: 1 hour
create index concurrently if not exists contributors_by_image on contributors (image) where image is not null;
