-- Queries on runs. A filter that is null matches all.

-- new_id --
select nextval('run_ids')

-- new_ids --
select nextval('run_ids') as number from generate_series(1, $1)

-- add_all --
-- Many runs in one statement: schedules make them all at once.
with given as (
    select *
    from unnest(
        $1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
        $9::text[], $10::text[], $11::timestamptz[], $12::text[]
    ) with ordinality as each (
        id, owner, owner_since, name, filesystem, schedule, pipeline, document, body, state, finish_time, life, place
    )
), made as (
    insert into runs (id, owner, owner_since, name, filesystem, schedule, pipeline, document, body)
    select id, owner, owner_since, name, filesystem, schedule, pipeline, document, body::jsonb from given order by place
    returning id, number
), lives as (
    insert into run_lives (id, state, finish_time, body, update_time, version)
    select id, state, finish_time, life::jsonb, $13, nextval('run_version') from given order by place
    returning id, version
)
select made.id, made.number, lives.version from made join lives using (id)

-- wish_all --
insert into wishes (run, wanted, path, by, comment)
select run, wanted, path, by, comment
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) with ordinality
    as given (run, wanted, path, by, comment, place)
order by place

-- active_counts --
select schedule, count(*) as runs
from runs join run_lives using (id)
where schedule = any ($1) and run_lives.state in ('initiating', 'pending', 'running', 'terminating')
group by schedule

-- add_run --
insert into runs (id, owner, owner_since, name, filesystem, schedule, pipeline, document, body)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::jsonb)
returning number

-- add_life --
insert into run_lives (id, state, finish_time, body, update_time, version)
values ($1, $2, $3, $4::text::jsonb, $5, nextval('run_version'))
returning version

-- runs --
select * from runs join (select id, body as life, update_time, version from run_lives) as lives using (id)
where id = any ($1)

-- page --
select runs.id, number, owner, owner_since, '' as document, runs.body, lives.body as life, update_time, version
from runs join run_lives as lives using (id)
where ($1::bigint = 0 or number < $1)
    and ($3::text[] is null or owner = any ($3))
    and ($4::text[] is null or lives.state = any ($4))
    and ($5::text[] is null or filesystem = any ($5))
    and ($6::text[] is null or runs.id = any ($6))
    and ($7::text[] is null or name = any ($7))
    and ($8::text is null or schedule = $8)
    and ($9::text is null or pipeline = $9)
    and ($10::text is null or owner = $10 and owner_since >= $11::timestamptz)
order by number desc
limit $2

-- unfinished --
select id from run_lives join runs using (id)
where run_lives.state in ('initiating', 'pending', 'running', 'terminating')
order by number

-- active_of --
select id from runs join run_lives using (id)
where schedule = $1 and run_lives.state in ('initiating', 'pending', 'running', 'terminating')
order by number

-- expired --
select runs.id, number, owner, owner_since, '' as document, runs.body, lives.body as life, update_time, version
from run_lives as lives join runs using (id)
where finish_time <= $1
order by finish_time
limit $2

-- save --
-- All that becomes of runs in one commit, in one statement.
with kept_nodes as (
    insert into nodes (run, path, place, iteration, state, body)
    select run, path, place, iteration, state, body::jsonb
    from unnest($6::text[], $7::text[], $8::integer[], $9::integer[], $10::text[], $11::text[])
        as given (run, path, place, iteration, state, body)
    on conflict (run, path) do update set state = excluded.state, body = excluded.body
), kept_loops as (
    insert into loops (run, path, items)
    select run, path, items::jsonb from unnest($12::text[], $13::text[], $14::text[]) as given (run, path, items)
    on conflict (run, path) do nothing
), kept_happenings as (
    insert into happenings (run, number, time, path, what, message, node_state, run_state, attempt, job)
    select run, number, $5, path, what, message, node_state, run_state, attempt, job
    from unnest(
        $15::text[], $16::bigint[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::integer[],
        $23::text[]
    ) as given (run, number, path, what, message, node_state, run_state, attempt, job)
), heard as (
    delete from wishes where number = any ($24)
)
update run_lives
set state = given.state, finish_time = given.finish_time, body = given.body::jsonb, update_time = $5,
    version = nextval('run_version')
from unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[]) as given (id, state, finish_time, body)
where run_lives.id = given.id
returning run_lives.id, run_lives.version

-- nodes --
select body
from nodes
where run = $1 and (place, iteration, path) > ($2, $3, $4::text collate "C")
    and ($6::text = '' or path = $6 or starts_with(path, $6 || '.') or starts_with(path, $6 || '['))
    and ($7::text[] is null or state = any ($7))
order by place, iteration, path
limit $5

-- node --
select body from nodes where run = $1 and path = $2

-- loops --
select path, items from loops where run = $1

-- progress --
-- Of iterations that are numbered from 0 without a gap the last one tells how many there are. Where there is a gap, each
-- before it has as many before it as its number says.
with asked as (
    select path, place from unnest($2::text[], $3::integer[]) as given (path, place)
), counted as (
    select asked.path, asked.place, count(*) as kept, count(*) filter (where state = any ($4)) as over,
        max(iteration) + 1 as numbered
    from asked join nodes
        on nodes.run = $1 and nodes.place = asked.place
        and (nodes.path = asked.path or starts_with(nodes.path, asked.path || '['))
    group by asked.path, asked.place
)
select asked.path, coalesce(kept, 0) as kept, coalesce(over, 0) as over,
    case when kept is null then 0 when kept = numbered then kept else (
        select min(before)
        from (
            select iteration, row_number() over (order by iteration) - 1 as before
            from nodes
            where run = $1 and place = asked.place
                and (path = asked.path or starts_with(path, asked.path || '['))
        ) as kept_ones
        where before <> iteration
    ) end as gap,
    (select jsonb_array_length(items) from loops where loops.run = $1 and loops.path = asked.path) as items
from asked left join counted using (path)

-- running --
select body from nodes where run = $1 and place = any ($2) and state = 'running' order by place, iteration, path

-- standings --
select place, state, count(*) as number, count(*) filter (where body -> 'cache' ->> 'run' <> '') as cached,
    min((body ->> 'start_time')::timestamptz) as start_time, max((body ->> 'finish_time')::timestamptz) as finish_time
from nodes
where run = $1
group by place, state
order by place, state

-- happenings --
select number, time, path, what, message, node_state, run_state, attempt, job
from happenings
where run = $1 and number > $2
order by number
limit $3

-- wish --
insert into wishes (run, wanted, path, by, comment) values ($1, $2, $3, $4, $5)

-- wishes --
select number, run, wanted, path, by, comment from wishes where number > $1 order by number limit $2

-- forget_wishes --
delete from wishes where number = any ($1)

-- owners --
-- From one owner to the next by the index, however many runs each has.
with recursive found as (
    (select owner, owner_since from runs order by owner, owner_since limit 1)
    union all
    select next.owner, next.owner_since
    from found cross join lateral (
        select owner, owner_since
        from runs
        where (owner, owner_since) > (found.owner, found.owner_since)
        order by owner, owner_since
        limit 1
    ) as next
)
select owner, owner_since from found

-- owned --
select runs.id, number, owner, owner_since, '' as document, runs.body, lives.body as life, update_time, version
from runs join run_lives as lives using (id)
where owner = $1 and owner_since = $2 and runs.id > $3
order by runs.id
limit $4

-- retries_of --
select id from runs where body->>'retry_of' = $1 and body->>'retry_of' <> '' order by number

-- leave --
insert into leavings (run, owner, filesystem, path)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[])
on conflict (run) do nothing

-- leavings --
select run, owner, filesystem, path from leavings where run > $1 order by run limit $2

-- clear --
delete from leavings where run = any ($1)

-- remove --
delete from runs where id = any ($1)
