-- Queries on datasets and their shards.

-- datasets --
select * from datasets where job = $1 and name = any ($2)

-- page --
select * from datasets where job = $1 and name > $2 order by name limit $3

-- add --
insert into datasets (
    job, name, total, size, passes, lease, retries, seed, digest, pass, handed, returned, done, failed, failed_in_all,
    kept, epoch, create_time, update_time
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)

-- add_items --
insert into items (job, dataset, part, items)
select $1, $2, (place - 1) / $4::bigint, array_agg(item order by place)
from unnest($3::text[]) with ordinality as given (item, place)
group by 3

-- keep --
-- One statement, since trainers wait for it.
with moved as (
    update datasets
    set pass = $3, handed = $4, returned = $5, done = $6, failed = $7, failed_in_all = $8, kept = $9, epoch = $10,
        update_time = $11
    where job = $1 and name = $2
), gone as (
    delete from shards
    using unnest($24::integer[], $25::bigint[]) as given (pass, number)
    where shards.job = $1 and shards.dataset = $2 and shards.pass = given.pass and shards.number = given.number
)
insert into shards (
    job, dataset, pass, number, epoch, state, failures, reason, attempt, role, index, restart, request, until
)
select $1, $2, pass, number, epoch, state, failures, reason, attempt, role, index, restart, request, until
from unnest(
    $12::integer[], $13::bigint[], $14::bigint[], $15::text[], $16::integer[], $17::text[], $18::integer[], $19::text[],
    $20::integer[], $21::integer[], $22::text[], $23::timestamptz[]
) as given (pass, number, epoch, state, failures, reason, attempt, role, index, restart, request, until)
on conflict (job, dataset, pass, number) do update
set epoch = excluded.epoch, state = excluded.state, failures = excluded.failures, reason = excluded.reason,
    attempt = excluded.attempt, role = excluded.role, index = excluded.index, restart = excluded.restart,
    request = excluded.request, until = excluded.until

-- items --
select items from items where job = $1 and dataset = $2 and part between $3 and $4 order by part

-- named --
select shards.*
from unnest($3::integer[], $4::bigint[]) as given (pass, number)
join shards on shards.job = $1 and shards.dataset = $2 and shards.pass = given.pass and shards.number = given.number
union
select *
from shards
where job = $1 and dataset = $2 and request = any ($5) and state = 'leased' and request <> ''

-- claims --
-- A replica has a task as long as its job does.
select shards.*, tasks.state as ended
from shards
left join tasks on tasks.job = shards.job and tasks.attempt = shards.attempt and tasks.role = shards.role
    and tasks.index = shards.index and tasks.restart = shards.restart and tasks.state = any ($4)
where shards.job = $1 and shards.dataset = $2 and shards.state <> 'failed'
    and (shards.state = 'returned' or shards.until <= $3 or tasks.state is not null)
order by shards.until, shards.number
limit $5

-- clear --
delete from shards where job = $1 and dataset = $2

-- shards --
select *
from shards
where job = $1 and dataset = $2 and state = any ($3) and (pass, number) > ($4::integer, $5::bigint)
order by pass, number
limit $6
