-- Queries on clusters, machines and flavours. A filter that is null matches all.

-- cluster --
select
    name, type, description, endpoint, software_version, source, setting, namespaces, credential, status,
    node_count, capacity, dedicated, revision, overcommitted, create_time, update_time, version
from clusters
where name = $1

-- clusters --
select
    name, type, description, endpoint, software_version, source, setting, namespaces, credential, status,
    node_count, capacity, dedicated, revision, overcommitted, create_time, update_time, version
from clusters
where name > $1
    and ($3::text[] is null or name = any ($3))
    and ($4::text is null or status = $4)
order by name
limit $2

-- add_cluster --
insert into clusters (
    name, type, description, endpoint, software_version, source, setting, namespaces, credential, status,
    node_count, capacity, dedicated, revision, overcommitted, create_time, update_time
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
returning version

-- set_cluster --
update clusters
set
    type = $2, description = $3, endpoint = $4, software_version = $5, source = $6, setting = $7, namespaces = $8,
    credential = $9, status = $10, node_count = $11, capacity = $12, dedicated = $13, revision = $14,
    overcommitted = $15, update_time = $16, version = nextval('tree_version')
where name = $1
returning version

-- set_revision --
update clusters set revision = $2 where name = $1

-- remove_cluster --
delete from clusters where name = $1 returning nextval('tree_version')

-- nodes --
select cluster, name, allocatable, labels, schedulable, dedicated_queue
from nodes
where (cluster, name) > ($1, $2)
    and ($4::text[] is null or cluster = any ($4))
    and ($5::text is null or cluster = $5)
    and ($6::text is null or dedicated_queue = $6)
    and labels @> $7
order by cluster, name
limit $3

-- set_nodes --
-- Most reports repeat the one before: only machines that have changed are written.
with reported as (
    select name, allocatable::jsonb, labels::jsonb, schedulable, dedicated_queue
    from unnest($2::text[], $3::text[], $4::text[], $5::boolean[], $6::text[])
        as node (name, allocatable, labels, schedulable, dedicated_queue)
), gone as (
    delete from nodes where cluster = $1 and name not in (select name from reported)
)
insert into nodes (cluster, name, allocatable, labels, schedulable, dedicated_queue)
select $1, name, allocatable, labels, schedulable, dedicated_queue from reported
on conflict (cluster, name) do update
set
    allocatable = excluded.allocatable, labels = excluded.labels, schedulable = excluded.schedulable,
    dedicated_queue = excluded.dedicated_queue
where (nodes.allocatable, nodes.labels, nodes.schedulable, nodes.dedicated_queue)
    is distinct from (excluded.allocatable, excluded.labels, excluded.schedulable, excluded.dedicated_queue)

-- begin --
insert into begun default values on conflict do nothing returning only_row

-- flavour --
select name, resources, cluster, creator, create_time, update_time, version from flavours where name = $1

-- flavours --
select name, resources, cluster, creator, create_time, update_time, version
from flavours
where name > $1
    and ($3::text is null or cluster is null or cluster = $3)
    and starts_with(name, $4)
order by name
limit $2

-- bound_flavours --
select name, resources, cluster, creator, create_time, update_time, version
from flavours
where cluster = $1
order by name

-- flavours_of --
select name, resources, cluster, creator, create_time, update_time, version
from flavours
where creator = $1
order by name

-- add_flavour --
insert into flavours (name, resources, cluster, creator, create_time, update_time)
values ($1, $2, $3, $4, $5, $6)
returning version

-- set_flavour --
update flavours
set resources = $2, cluster = $3, creator = $4, update_time = $5, version = nextval('tree_version')
where name = $1
returning version

-- remove_flavour --
delete from flavours where name = $1 returning nextval('tree_version')
