-- Queries on workloads. A filter that is null matches all.

-- unfinished --
-- As text, because it is read in a way of its own.
select id, queue, spec::text, standing::text
from workloads
where id > $1 and ($3::text is null or queue = $3)
order by id
limit $2

-- over --
select id, queue, spec, standing from workloads_over where id = any ($1)

-- last_over --
-- All ids of a job lie between "job/" and "job0", as "0" comes after "/".
select id, queue, spec, standing
from workloads_over
where id > $1 || '/' and id < $1 || '0' and ($2 = 0 or id = $1 || '/' || $2::text)
order by split_part(id, '/', 2)::integer desc
limit 1

-- over_in_queue --
select id, queue, spec, standing, end_time
from workloads_over
where queue = $1
    and ($2::text is null or spec ->> 'user' = $2)
    and ($3::timestamptz is null or end_time >= $3)
    and ($4::timestamptz is null or (end_time, id) < ($4, $5))
order by end_time desc, id desc
limit $6

-- in_queue --
select exists (select from workloads where queue = $1)

-- used --
-- A path that leads nowhere, what is no number, and more than anybody can ask for is passed over: one spoilt row must not
-- hide all others.
with recursive below (top, name) as (
    select name, name from queues where name = any ($1)
    union all
    select below.top, queue.name from queues as queue join below on queue.parent = below.name
), held (queue, resource, amount) as materialized (
    -- Small rows, so that adding them up does not carry all of the JSON along.
    select
        queue,
        each ->> 'key',
        (each -> 'value')::numeric
        * ((role -> 1)::numeric + coalesce(standing -> 12 -> (number - 1)::integer, '0')::numeric)
    from workloads
    cross join lateral jsonb_path_query(spec, '$.roles[*]', '{}', true) with ordinality as given (role, number)
    cross join lateral jsonb_path_query(role, '$[4].keyvalue()', '{}', true) as each
    where queue in (select name from below)
        and standing ->> 0 in ('admitted', 'evicting')
        and jsonb_typeof(each -> 'value') = 'number'
        and jsonb_typeof(role -> 1) = 'number'
        and jsonb_typeof(coalesce(standing -> 12 -> (number - 1)::integer, '0')) = 'number'
), summed (queue, resource, amount) as (
    select below.top, resource, sum(amount)
    from below
    join held on held.queue = below.name and held.amount <= 1e18
    group by below.top, resource
)
select queue, jsonb_object_agg(resource, amount) as used from summed where amount > 0 group by queue

-- add --
insert into workloads (id, queue, spec, standing)
select id, queue, spec::jsonb, standing::jsonb
from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as given (id, queue, spec, standing)

-- set --
update workloads
set standing = given.standing::jsonb
from unnest($1::text[], $2::text[]) as given (id, standing)
where workloads.id = given.id

-- revise --
update workloads
set spec = given.spec::jsonb
from unnest($1::text[], $2::text[]) as given (id, spec)
where workloads.id = given.id

-- remove --
delete from workloads where id = any ($1)

-- end --
-- The attempt that follows one sent back may have a number that its job used before.
insert into workloads_over (id, queue, spec, standing, end_time)
select id, queue, spec::jsonb, standing::jsonb, $5
from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as given (id, queue, spec, standing)
on conflict (id) do update
set queue = excluded.queue, spec = excluded.spec, standing = excluded.standing, end_time = excluded.end_time

-- decide --
insert into decisions (time, job, attempt, queue, kind, replicas, why, beneficiary)
select time, job, attempt, queue, kind, replicas::jsonb, why, beneficiary
from unnest($1::timestamptz[], $2::text[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
    as given (time, job, attempt, queue, kind, replicas, why, beneficiary)

-- decisions --
select id, time, job, attempt, queue, kind, replicas, why, beneficiary
from decisions
where ($1::bigint is null or id < $1)
    and ($3::text[] is null or queue = any ($3))
    and ($4::text is null or job = $4)
    and ($5::integer is null or attempt = $5)
    and ($6::text[] is null or kind = any ($6))
    and ($7::timestamptz is null or time >= $7)
order by id desc
limit $2

-- tree --
-- Changes whenever a queue or a cluster does: versions only grow, and a deletion shows in the counts.
select
    (select coalesce(max(version), 0) from queues) as queues,
    (select coalesce(max(version), 0) from clusters) as clusters,
    (select count(*) from queues) as queue_count,
    (select count(*) from clusters) as cluster_count
