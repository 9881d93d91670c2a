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
insert into items (job, dataset, place, item)
select $1, $2, place - 1, item
from unnest($3::text[]) with ordinality as given (item, place)

-- save --
update datasets
set pass = given.pass, handed = given.handed, returned = given.returned, done = given.done, failed = given.failed,
    failed_in_all = given.failed_in_all, kept = given.kept, epoch = given.epoch, update_time = given.update_time
from unnest(
    $1::text[], $2::text[], $3::integer[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
    $9::integer[], $10::bigint[], $11::timestamptz[]
) as given (job, name, pass, handed, returned, done, failed, failed_in_all, kept, epoch, update_time)
where datasets.job = given.job and datasets.name = given.name

-- items --
select item
from items
where job = $1 and dataset = $2 and place >= $3 and place < $3 + $4
order by place

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

-- put --
insert into shards (
    job, dataset, pass, number, epoch, state, failures, reason, attempt, role, index, restart, request, until
)
select $1, $2, pass, number, epoch, state, failures, reason, attempt, role, index, restart, request, until
from unnest(
    $3::integer[], $4::bigint[], $5::bigint[], $6::text[], $7::integer[], $8::text[], $9::integer[], $10::text[],
    $11::integer[], $12::integer[], $13::text[], $14::timestamptz[]
) as given (pass, number, epoch, state, failures, reason, attempt, role, index, restart, request, until)
on conflict (job, dataset, pass, number) do update
set epoch = excluded.epoch, state = excluded.state, failures = excluded.failures, reason = excluded.reason,
    attempt = excluded.attempt, role = excluded.role, index = excluded.index, restart = excluded.restart,
    request = excluded.request, until = excluded.until

-- drop --
delete from shards
using unnest($3::integer[], $4::bigint[]) as given (pass, number)
where shards.job = $1 and shards.dataset = $2 and shards.pass = given.pass and shards.number = given.number

-- clear --
delete from shards where job = $1 and dataset = $2

-- shards --
select *
from shards
where job = $1 and dataset = $2 and state = any ($3) and (pass, number) > ($4::integer, $5::bigint)
order by pass, number
limit $6
