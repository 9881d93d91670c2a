-- Queries on filesystems and grants. A filter that is null matches all.

-- next_version --
select nextval('filesystem_version');

-- filesystem --
select
    owner, name, url, kind, folder, confined, properties, secret_names, secret_key, secret_data, version, create_time,
    quota_bytes, quota_files
from filesystems
where id = $1;

-- filesystems --
select
    owner, name, url, kind, folder, confined, properties, secret_names, secret_key, secret_data, version, create_time,
    quota_bytes, quota_files
from filesystems
where id > $1
    and ($3::text is null or owner = $3)
    and ($4::text is null or name = $4)
    and starts_with(name, $5)
    and (
        $6::text is null
        or owner = $6
        or id in (select filesystem_id from filesystem_grants where user_name = $6)
    )
order by id
limit $2;

-- users --
select owner as name from filesystems union select user_name from filesystem_grants;

-- add --
insert into filesystems (
    id, owner, name, url, kind, folder, confined, properties, secret_names, secret_key, secret_data, quota_bytes,
    quota_files, version, create_time
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15);

-- update --
update filesystems set
    properties = $2, secret_names = $3, secret_key = $4, secret_data = $5, quota_bytes = $6, quota_files = $7,
    version = $8
where id = $1;

-- sealed_with --
select
    owner, name, url, kind, folder, confined, properties, secret_names, secret_key, secret_data, version, create_time,
    quota_bytes, quota_files
from filesystems
where secret_key <> '' and secret_key = any ($1::text[])
limit $2;

-- reseal --
update filesystems set secret_key = $2, secret_data = $3 where id = $1;

-- secret_keys --
select secret_key, count(*) as things from filesystems where secret_key <> '' group by secret_key;

-- remove --
delete from filesystems where id = $1;

-- grant --
select filesystem_id, user_name, access, version, create_time from filesystem_grants
where filesystem_id = $1 and user_name = $2;

-- grants --
select filesystem_id, user_name, access, version, create_time from filesystem_grants
where ($1::text is null or filesystem_id = $1)
    and ($2::text is null or user_name = $2)
    and (
        $3::text is null
        or user_name = $3
        or filesystem_id in (select id from filesystems where owner = $3)
    )
    and ($4::text is null or (filesystem_id, user_name) > ($4, $5::text))
order by filesystem_id, user_name
limit $6;

-- set_grant --
insert into filesystem_grants (filesystem_id, user_name, access, version, create_time) values ($1, $2, $3, $4, $5)
on conflict (filesystem_id, user_name) do update set
    access = excluded.access, version = excluded.version, create_time = excluded.create_time;

-- remove_grants --
delete from filesystem_grants
where filesystem_id = $1 and ($2::text is null or user_name = $2)
returning filesystem_id, user_name, access, version, create_time;
