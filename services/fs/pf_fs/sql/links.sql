-- Queries on links.

-- links --
select
    filesystem_id, path, url, kind, folder, confined, properties, secret_names, secret_key, secret_data, create_time
from filesystem_links
where filesystem_id = $1
order by path;

-- add --
insert into filesystem_links (
    filesystem_id, path, url, kind, folder, confined, properties, secret_names, secret_key, secret_data, create_time
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- remove --
delete from filesystem_links where filesystem_id = $1 and path = $2 returning path;

-- sealed_with --
select
    filesystem_id, path, url, kind, folder, confined, properties, secret_names, secret_key, secret_data, create_time
from filesystem_links
where secret_key <> '' and secret_key = any ($1::text[])
limit $2;

-- reseal --
update filesystem_links set secret_key = $3, secret_data = $4 where filesystem_id = $1 and path = $2;

-- secret_keys --
select secret_key, count(*) as things from filesystem_links where secret_key <> '' group by secret_key;
