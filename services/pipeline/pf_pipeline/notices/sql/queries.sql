-- Queries on notices.

-- add --
insert into notices (id, run, owner, owner_since, means, target, secret_file, filesystem, body, due_time, create_time)
select given.*, $10, $10
from unnest(
    $1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[]
) as given
on conflict (id) do nothing

-- claim --
update notices
set attempts = attempts + 1, due_time = $1::timestamptz + $2::interval
where id in (
    select id from notices
    where state = 'pending' and due_time <= $1 and owner <> all($4::text[])
    order by due_time, id
    limit $3
    for update skip locked
)
returning *

-- settle --
update notices
set state = given.state, message = given.message, due_time = given.due_time
from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::integer[])
    as given (id, state, message, due_time, attempts)
where notices.id = given.id and notices.state = 'pending'
    and (given.state <> 'pending' or given.attempts = notices.attempts)

-- of_run --
select * from notices where run = $1 order by id
