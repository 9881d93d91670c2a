-- Queries on mounts and caches. A filter that is null matches all.

-- keep --
insert into filesystem_mounts (
    filesystem_id, user_name, mount_id, node, path, read_only, etag, usage, create_time, report_time
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
on conflict (filesystem_id, user_name, mount_id) do update set
    node = excluded.node, path = excluded.path, read_only = excluded.read_only, etag = excluded.etag,
    usage = excluded.usage, report_time = excluded.report_time;

-- end --
delete from filesystem_mounts
where filesystem_id = $1 and mount_id = $2 and ($3::text is null or user_name = $3);

-- others --
select count(*) from filesystem_mounts
where filesystem_id = $1 and user_name = $2 and mount_id <> $3 and report_time > $4;

-- mounts --
select filesystem_id, user_name, mount_id, node, path, read_only, etag, usage, create_time, report_time
from filesystem_mounts
where report_time > $1
    and ($2::text is null or filesystem_id = $2)
    and ($3::text is null or node = $3)
    and (
        $4::text is null
        or user_name = $4
        or filesystem_id in (select id from filesystems where owner = $4)
    )
    and ($5::text is null or (filesystem_id, node, user_name, mount_id) > ($5, $6::text, $7::text, $8::text))
order by filesystem_id, node, user_name, mount_id
limit $9;

-- cache --
select cache from filesystem_caches where filesystem_id = $1;

-- set_cache --
insert into filesystem_caches (filesystem_id, cache) values ($1, $2)
on conflict (filesystem_id) do update set cache = excluded.cache;

-- remove_cache --
delete from filesystem_caches where filesystem_id = $1 returning filesystem_id;
