-- Queries on schedules and their ticks. A filter that is null matches all.

-- new_id --
select nextval('schedule_ids')

-- add --
insert into schedules (
    id, owner, owner_since, name, description, pipeline, pipeline_version, parameters, crontab, time_zone, start_time,
    end_time, concurrency, policy, expire, catchup, state, message, next_time, wake_time, looked_time, create_time,
    update_time, version
)
values (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $22,
    nextval('schedule_version')
)
returning number, version

-- schedules --
select * from schedules where id = any ($1) order by id

-- page --
select * from schedules
where ($1::bigint = 0 or number < $1)
    and ($2::text[] is null or owner = any ($2))
    and ($3::text[] is null or name = any ($3))
    and ($4::text[] is null or pipeline = any ($4))
    and ($5::integer[] is null or pipeline_version = any ($5))
    and ($6::text[] is null or state = any ($6))
    and ($8::text is null or owner = $8 and owner_since >= $9::timestamptz)
order by number desc
limit $7

-- save --
update schedules
set state = given.state, message = given.message, next_time = given.next_time, wake_time = given.wake_time,
    looked_time = given.looked_time, update_time = $7, version = nextval('schedule_version')
from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::timestamptz[])
    as given (id, state, message, next_time, wake_time, looked_time)
where schedules.id = given.id
returning schedules.id, schedules.version

-- remove --
delete from schedules where id = $1

-- owners --
select distinct owner, owner_since from schedules order by owner, owner_since

-- owned --
select * from schedules where owner = $1 and owner_since = $2 order by number limit $3

-- due --
select id from schedules where wake_time <= $1 order by wake_time, id limit $2

-- next_wake --
select min(wake_time) from schedules where wake_time is not null

-- blocked --
select * from schedules
where state = 'running' and next_time <= looked_time and id > $1
order by id
limit $2

-- ticks --
select schedule_ticks.*
from unnest($1::text[], $2::timestamptz[]) as given (schedule, time)
join schedule_ticks on schedule_ticks.schedule = given.schedule and schedule_ticks.time = given.time

-- keep_ticks --
insert into schedule_ticks (schedule, time, run, skipped)
select * from unnest($1::text[], $2::timestamptz[], $3::text[], $4::boolean[])

-- replace_ticks --
insert into schedule_ticks (schedule, time, run, skipped)
select * from unnest($1::text[], $2::timestamptz[], $3::text[], $4::boolean[])
on conflict (schedule, time) do update set run = excluded.run, skipped = excluded.skipped

-- users --
select name from schedules
where pipeline = $1 and ($2 = 0 or pipeline_version = $2) and state in ('running', 'paused')
order by name
limit $3
