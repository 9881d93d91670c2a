-- Queries on jobs. A filter that is null matches all.

-- jobs --
select jobs.*, lives.* from jobs join lives using (id) where id = any ($1)

-- of_parts --
select jobs.*, lives.* from jobs join lives using (id) where part_key = any ($1)

-- page --
select jobs.*, lives.*
from jobs join lives using (id)
where ($1::bigint = 0 or number < $1)
    and ($3::text is null or owner = $3)
    and ($4::text is null or queue = $4)
    and ($5::text[] is null or case when owner = $6 then owner_since >= $7 else queue = any ($5) end)
    and ($8::text[] is null or state = any ($8))
    and ($9::jsonb = '{}' or labels @> $9)
    and ($10::timestamptz is null or update_time >= $10)
    and ($11::timestamptz is null or start_time >= $11)
    and starts_with(name, $12)
order by number desc
limit $2

-- page_among --
-- The same of some jobs.
select jobs.*, lives.*
from jobs join lives using (id)
where id = any ($13)
    and ($1::bigint = 0 or number < $1)
    and ($3::text is null or owner = $3)
    and ($4::text is null or queue = $4)
    and ($5::text[] is null or case when owner = $6 then owner_since >= $7 else queue = any ($5) end)
    and ($8::text[] is null or state = any ($8))
    and ($9::jsonb = '{}' or labels @> $9)
    and ($10::timestamptz is null or update_time >= $10)
    and ($11::timestamptz is null or start_time >= $11)
    and starts_with(name, $12)
order by number desc
limit $2

-- unfinished_in --
select id from lives where stage <> 'over' and state = any ($1) limit $2

-- at --
-- Whoever waits for its time does so before it is submitted; later nothing waits for a time.
-- Stage by stage, because of each the first ones are found by the index, however many there are.
select jobs.*, lives.*
from (
    select first.id
    from unnest($1::text[]) as wanted (stage) cross join lateral (
        select id, version
        from lives
        where lives.stage = wanted.stage
            and lives.stage in ('submit', 'revise', 'launch', 'part', 'resize', 'halt', 'release')
            and (lives.stage <> 'submit' or not_before is null or not_before <= $2)
            and id <> all ($4)
        order by version
        limit $3
    ) as first
    order by first.version
    limit $3
) as owed join lives using (id) join jobs using (id)
order by lives.version

-- owed_stages --
select wanted.stage
from unnest($1::text[]) as wanted (stage)
where exists (
    select from lives
    where lives.stage = wanted.stage
        and lives.stage in ('submit', 'revise', 'launch', 'part', 'resize', 'halt', 'release')
        and (lives.stage <> 'submit' or not_before is null or not_before <= $2)
)

-- unfinished --
select jobs.*, lives.*
from lives join jobs using (id)
where stage = any ($1) and stage <> 'over' and lives.id > $2
order by lives.id
limit $3

-- overdue --
select jobs.*, lives.* from lives join jobs using (id) where due <= $1 order by due limit $2

-- expired --
select jobs.*, lives.*
from lives join jobs using (id)
where kept_until <= $1 and stage = 'over'
order by kept_until
limit $2

-- owners --
-- From one owner to the next by the index, however many jobs each has.
with recursive found as (
    (select owner, owner_since from jobs where owner_since is not null order by owner, owner_since limit 1)
    union all
    select next.owner, next.owner_since
    from found cross join lateral (
        select owner, owner_since
        from jobs
        where owner_since is not null and (owner, owner_since) > (found.owner, found.owner_since)
        order by owner, owner_since
        limit 1
    ) as next
)
select owner, owner_since from found

-- owned --
select jobs.*, lives.*
from jobs join lives using (id)
where owner = $1 and owner_since = $2 and jobs.id > $3
order by jobs.id
limit $4

-- claim --
insert into scopes as known (name, epoch) values ($1, $2)
on conflict (name) do update set epoch = greatest(known.epoch, excluded.epoch)
returning epoch

-- add_jobs --
insert into jobs (
    id, owner, owner_since, queue, name, type, labels, spec, resources, notes, part_key, part_scope, part_epoch
)
select
    id, owner, owner_since, queue, name, type, labels::jsonb, spec, resources::jsonb,
    array(select jsonb_array_elements_text(notes::jsonb)), part_key, part_scope, part_epoch
from unnest(
    $1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::bigint[]
) as given (id, owner, owner_since, queue, name, type, labels, spec, resources, notes, part_key, part_scope, part_epoch)
returning id, number

-- add_lives --
insert into lives (
    id, state, stage, attempt, retries, ending, abrupt, message, held, not_before, accept_time, start_time,
    finish_time, due, kept_until, crew, settle_time, revision, update_time, version
)
select
    id, state, stage, attempt, retries, ending, abrupt, message, held::jsonb, not_before, accept_time, start_time,
    finish_time, due, kept_until, crew::jsonb, settle_time, revision, $19, nextval('job_version')
from unnest(
    $1::text[], $2::text[], $3::text[], $4::integer[], $5::integer[], $6::text[], $7::boolean[], $8::text[], $9::text[],
    $10::timestamptz[], $11::timestamptz[], $12::timestamptz[], $13::timestamptz[], $14::timestamptz[],
    $15::timestamptz[], $16::text[], $17::timestamptz[], $18::integer[]
) as given (
    id, state, stage, attempt, retries, ending, abrupt, message, held, not_before, accept_time, start_time,
    finish_time, due, kept_until, crew, settle_time, revision
)
returning id, version

-- save --
update lives
set state = given.state, stage = given.stage, attempt = given.attempt, retries = given.retries, ending = given.ending,
    abrupt = given.abrupt, message = given.message, held = given.held::jsonb, not_before = given.not_before,
    accept_time = given.accept_time, start_time = given.start_time, finish_time = given.finish_time, due = given.due,
    kept_until = given.kept_until, crew = given.crew::jsonb, settle_time = given.settle_time,
    revision = given.revision, update_time = $19, version = nextval('job_version')
from unnest(
    $1::text[], $2::text[], $3::text[], $4::integer[], $5::integer[], $6::text[], $7::boolean[], $8::text[], $9::text[],
    $10::timestamptz[], $11::timestamptz[], $12::timestamptz[], $13::timestamptz[], $14::timestamptz[],
    $15::timestamptz[], $16::text[], $17::timestamptz[], $18::integer[]
) as given (
    id, state, stage, attempt, retries, ending, abrupt, message, held, not_before, accept_time, start_time,
    finish_time, due, kept_until, crew, settle_time, revision
)
where lives.id = given.id
returning lives.id, lives.version

-- revise --
update jobs set name = $2, labels = $3, spec = $4 where id = $1

-- touch --
update lives set update_time = $2, version = nextval('job_version') where id = $1 returning version

-- remove --
with replicas as (
    insert into leftovers (job, attempt, role, index, restart, time)
    select job, attempt, role, index, restart, $2 from tasks where job = any ($1)
), ids as (
    insert into spent (id, time) select id, $2 from jobs where id = any ($1)
)
delete from jobs where id = any ($1)

-- spent --
select id from jobs where id = any ($1)
union all
select id from spent where id = any ($1)

-- leftovers --
select job, attempt, role, index, restart from leftovers where time <= $1 order by time limit $2

-- clear --
delete from leftovers
using unnest($1::text[], $2::integer[], $3::text[], $4::integer[], $5::integer[])
    as given (job, attempt, role, index, restart)
where (leftovers.job, leftovers.attempt, leftovers.role, leftovers.index, leftovers.restart)
    = (given.job, given.attempt, given.role, given.index, given.restart)

-- tasks --
select
    job, attempt, role, index, restart, state, message, machine, status, signal, accelerators, ports, start_time,
    finish_time
from tasks
where job = any ($1) and ($2 = 0 or attempt = $2)
order by job, attempt, role, index, restart

-- counts --
select job, role, state, count(*)
from (
    select distinct on (job, role, index) job, role, tasks.state
    from tasks join lives on lives.id = tasks.job and lives.attempt = tasks.attempt
    where job = any ($1) and (crew is null or index < coalesce((crew ->> role)::integer, 0))
    order by job, role, index, restart desc
) as last
group by job, role, state

-- put_tasks --
insert into tasks (
    job, attempt, role, index, restart, state, message, machine, status, signal, accelerators, ports, start_time,
    finish_time
)
select
    job, attempt, role, index, restart, state, message, machine, status, signal,
    array(select jsonb_array_elements_text(accelerators::jsonb)::integer), ports::jsonb, start_time, finish_time
from unnest(
    $1::text[], $2::integer[], $3::text[], $4::integer[], $5::integer[], $6::text[], $7::text[], $8::text[],
    $9::integer[], $10::integer[], $11::text[], $12::text[], $13::timestamptz[], $14::timestamptz[]
) as given (
    job, attempt, role, index, restart, state, message, machine, status, signal, accelerators, ports, start_time,
    finish_time
)
on conflict (job, attempt, role, index, restart) do update
set state = excluded.state, message = excluded.message, machine = excluded.machine, status = excluded.status,
    signal = excluded.signal, accelerators = excluded.accelerators, ports = excluded.ports,
    start_time = excluded.start_time, finish_time = excluded.finish_time

-- ports --
select value::integer as port
from tasks cross join lateral jsonb_each_text(ports)
where state = any ($1) and ports <> '{}'

-- end_spans --
update spans
set finish_time = greatest(spans.start_time, given.time)
from unnest($1::text[], $2::timestamptz[]) as given (job, time)
where spans.job = given.job and spans.finish_time is null

-- add_spans --
insert into spans (job, attempt, queue, owner, owner_since, accept_time, start_time, finish_time, cpu, memory, cards)
select job, attempt, queue, owner, owner_since, accept_time, start_time, finish_time, cpu, memory, cards::jsonb
from unnest(
    $1::text[], $2::integer[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[],
    $8::timestamptz[], $9::bigint[], $10::bigint[], $11::text[]
) as given (job, attempt, queue, owner, owner_since, accept_time, start_time, finish_time, cpu, memory, cards)

-- note --
with given as (
    select *
    from unnest(
        $1::text[], $2::timestamptz[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::text[], $8::integer[]
    ) with ordinality as given (job, time, attempt, state, what, message, role, index, place)
), last as (
    select job, max(happenings.number) as number from happenings where job in (select job from given) group by job
)
insert into happenings (job, number, time, attempt, state, what, message, role, index)
select
    given.job,
    coalesce(last.number, 0) + row_number() over (partition by given.job order by given.place),
    given.time, given.attempt, given.state, given.what, given.message, given.role, given.index
from given left join last on last.job = given.job

-- happenings --
select job, number, time, attempt, state, what, message, role, index
from happenings
where job = $1 and number > $2
order by number
limit $3
