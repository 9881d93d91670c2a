-- Queries on queues. A filter that is null matches all.

-- standing --
select
    name, cluster, namespace, quota_type, isolation, parent, min, max, lend_limit, weight, priority,
    preemption_policy, order_policy, max_jobs, max_per_user, max_jobs_per_user, labels, state,
    create_time, update_time, version, effective_max
from standings
where name = $1

-- page --
select
    name, cluster, namespace, quota_type, isolation, parent, min, max, lend_limit, weight, priority,
    preemption_policy, order_policy, max_jobs, max_per_user, max_jobs_per_user, labels, state,
    create_time, update_time, version, effective_max
from standings
where name > $1
    and ($3::text[] is null or name = any ($3))
    and ($4::text is null or cluster = $4)
    and ($5::text is null or namespace = $5)
    and ($6::text is null or parent = $6)
    and ($7::text[] is null or state = any ($7))
    and starts_with(name, $8)
    and labels @> $9
order by name
limit $2

-- kin --
-- Those above the new place and above the old one: without the latter the tree as it was could not be judged.
-- `union` drops what was found before, so that even a ring of queues would come to an end.
with recursive above (name, parent) as (
    select name, parent from queues
    where cluster = $1 and (name = $3 or name = (select parent from queues where name = $2))
    union
    select queue.name, queue.parent from queues as queue join above on queue.name = above.parent
), below (name) as (
    select name from queues where name = $2
    union
    select queue.name from queues as queue join below on queue.parent = below.name
)
select
    name, cluster, namespace, quota_type, isolation, parent, min, max, lend_limit, weight, priority,
    preemption_policy, order_policy, max_jobs, max_per_user, max_jobs_per_user, labels, state,
    create_time, update_time, version
from queues
where name in (
    select name from above
    union
    select name from below
)

-- guaranteed --
select coalesce(jsonb_object_agg(resource, amount), '{}')
from promises
where cluster = $1 and parent = $2 and amount > 0

-- isolated --
select name, min from queues where cluster = $1 and isolation = 'physical'

-- in_cluster --
with recursive below (name, depth) as (
    select name, 1 from queues where cluster = $1 and parent is null
    union all
    select queue.name, below.depth + 1 from queues as queue join below on queue.parent = below.name
)
select
    name, cluster, namespace, quota_type, isolation, parent, min, max, lend_limit, weight, priority,
    preemption_policy, order_policy, max_jobs, max_per_user, max_jobs_per_user, labels, state,
    create_time, update_time, version
from queues
join below using (name)
order by depth, name

-- add --
insert into queues (
    name, cluster, namespace, quota_type, isolation, parent, min, max, lend_limit, weight, priority,
    preemption_policy, order_policy, max_jobs, max_per_user, max_jobs_per_user, labels, state,
    create_time, update_time
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
returning version

-- set --
update queues
set
    parent = $2, min = $3, max = $4, lend_limit = $5, weight = $6, priority = $7, preemption_policy = $8,
    order_policy = $9, max_jobs = $10, max_per_user = $11, max_jobs_per_user = $12, labels = $13, state = $14,
    update_time = $15, version = nextval('tree_version')
where name = $1
returning version

-- remove --
delete from queues where name = $1 returning nextval('tree_version')

-- remove_all --
delete from queues where cluster = $1 returning name, nextval('tree_version') as version
