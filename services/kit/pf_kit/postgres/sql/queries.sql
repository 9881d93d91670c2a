-- Queries on the kit's own tables.

-- begin_change --
-- The locks come before all else: no transaction id is given out, nor a row read, until they are held. The time is that
-- at which they are, as waiting for them must not put a later change before the one it waited for. The lease is held as
-- by hold_fence.
with held as materialized (
    select array(select pg_advisory_xact_lock(key)::text from unnest($1::bigint[]) as key) as locks
)
select
    clock_timestamp() as time,
    (select true from leases where name = $2::text and fence = $3::bigint for key share) as leads
from held
where locks is not null

-- end_change --
with facts as (
    insert into outbox (type, subject, version, payload, trace, create_time)
    select type, subject, version, payload, $5::text, $17::timestamptz
    from unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[])
        with ordinality as fact (type, subject, version, payload, place)
    order by place
), entries as (
    insert into audit (actor, on_behalf_of, method, subject, peer, request_id, create_time)
    select actor, on_behalf_of, method, subject, peer, request_id, $17::timestamptz
    from unnest($6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[])
        with ordinality as entry (actor, on_behalf_of, method, subject, peer, request_id, place)
    order by place
), replies as (
    insert into requests (principal, method, request_id, digest, reply, create_time)
    select principal, method, request_id, digest, reply, $17::timestamptz
    from unnest($12::text[], $13::text[], $14::text[], $15::bytea[], $16::bytea[])
        as reply (principal, method, request_id, digest, reply)
)
select pg_current_xact_id() as xid

-- known_request --
select digest, reply from requests where principal = $1 and method = $2 and request_id = $3

-- moment --
select pg_current_snapshot()::text

-- events_after --
-- One row without an event if there is none. Events of transactions from `xmin` on may still be overtaken. A place from
-- `xmax` on was given out by another life of the database, of which nobody has told this one. No more than $3 events,
-- and none after those that come to $4 bytes.
select
    (trimmed.xid, trimmed.id) > ($1::xid8, $2::bigint)
        or $1::xid8 >= pg_snapshot_xmax(pg_current_snapshot()) as expired,
    pg_snapshot_xmin(pg_current_snapshot()) as xmin,
    event.*
from outbox_trimmed as trimmed
left join lateral (
    select xid, id, type, subject, version, payload, trace, create_time
    from (
        select *, sum(length(payload)) over (order by xid, id rows unbounded preceding) - length(payload) as bytes_before
        from (
            select xid, id, type, subject, version, payload, trace, create_time
            from outbox
            where (xid, id) > ($1::xid8, $2::bigint) and xid < pg_snapshot_xmin(pg_current_snapshot())
            order by xid, id
            limit $3
        ) as next
    ) as measured
    where bytes_before < $4
) as event on true
order by event.xid, event.id

-- head --
select xid, id from (
    (
        select xid, id from outbox
        where xid < pg_snapshot_xmin(pg_current_snapshot())
        order by xid desc, id desc
        limit 1
    )
    union all
    select xid, id from outbox_trimmed
) as place
order by xid desc, id desc
limit 1

-- floor --
select xid, id from outbox_trimmed

-- audit_records --
select id, create_time, actor, on_behalf_of, method, subject, peer, request_id
from audit
where ($1 = '' or actor = $1)
    and ($2 = '' or subject = $2)
    and ($3::timestamptz is null or create_time >= $3)
    and ($4::bigint is null or id < $4)
order by id desc
limit $5

-- install --
select epoch::text, installation::text, secret from install

-- acquire_lease --
-- A lease that ends later than it can have been given for was given before the clock was set back. It is over as well:
-- otherwise nobody could take it for as long as the clock was set back by. Twice its length lets small steps pass.
insert into leases (name, holder, address, fence, expires, ttl)
values ($1, $2, $3, 1, clock_timestamp() + $4::interval, $4::interval)
on conflict (name) do update
set holder = $2, address = $3, fence = leases.fence + 1, expires = clock_timestamp() + $4::interval, ttl = $4::interval
where leases.expires <= clock_timestamp() or leases.expires > clock_timestamp() + 2 * leases.ttl
returning name, holder, address, fence, expires

-- cut_holders --
-- Ends the sessions that takers of a lease wait for: $1 is what those run, less than the kB that Postgres tells of it.
-- A session whose process stands still in the midst of a transaction keeps its locks for as long as the limits of a
-- transaction let it, and longest of all if it has prepared a statement and not run it. Sessions that wait themselves
-- go on when others are cut, and a taker is done in a moment.
select pg_terminate_backend(holder.pid)
from pg_stat_activity as taker
cross join unnest(pg_blocking_pids(taker.pid)) as blocking
join pg_stat_activity as holder on holder.pid = blocking
where taker.application_name = current_setting('application_name') and taker.datname = current_database()
    and taker.wait_event_type = 'Lock' and taker.query = $1::text
    and holder.wait_event_type is distinct from 'Lock' and holder.query is distinct from $1::text

-- renew_lease --
update leases set expires = clock_timestamp() + $3::interval, ttl = $3::interval
where name = $1 and fence = $2 and expires > clock_timestamp() and expires <= clock_timestamp() + 2 * ttl
returning name, holder, address, fence, expires

-- release_lease --
-- Not only until now: the clock may be set back.
update leases set expires = '-infinity' where name = $1 and fence = $2

-- read_lease --
select name, holder, address, fence, expires
from leases
where name = $1 and expires > clock_timestamp() and expires <= clock_timestamp() + 2 * ttl

-- hold_fence --
-- A key lock: a new fence, which is part of a key, must wait for it; a renewal needs not.
select true from leases where name = $1 and fence = $2 for key share

-- trim_outbox --
-- Forgets what is older than $1, at most $2 events, whether or not it was ever on the bus: while that is away nothing
-- must pile up here for ever, and readers of the bus see the gap. The order of times is not the order of events: what
-- comes after an event that stays must stay as well, and so must what a transaction under way may still come before.
with oldest as (
    select xid, id, create_time from outbox
    where xid < pg_snapshot_xmin(pg_current_snapshot())
    order by xid, id
    limit $2
), stays as (
    select xid, id from oldest
    where create_time >= now() - $1::interval
    order by xid, id
    limit 1
), gone as (
    delete from outbox using oldest
    where (outbox.xid, outbox.id) = (oldest.xid, oldest.id)
        and not exists (select from stays where (oldest.xid, oldest.id) >= (stays.xid, stays.id))
    returning outbox.xid, outbox.id
), last as (
    select xid, id from gone order by xid desc, id desc limit 1
), noted as (
    update outbox_trimmed set xid = last.xid, id = last.id from last
)
select count(*) from gone

-- forget_events --
truncate outbox

-- forget_trimming --
update outbox_trimmed set xid = '0', id = 0

-- forget_relay --
update relay_cursor set xid = '0', id = 0

-- forget_inbox --
truncate inbox

-- skip_fences --
update leases set fence = fence + $1::bigint, expires = '-infinity'

-- begin_epoch --
update install set epoch = gen_random_uuid() returning epoch::text

-- relayed --
select xid, id from relay_cursor

-- advance_relay --
update relay_cursor set xid = $1, id = $2 where (xid, id) < ($1, $2)

-- applied --
select epoch, xid, id from inbox where consumer = $1 and source = $2

-- claim_applied --
select epoch, xid, id from inbox where consumer = $1 and source = $2 for update

-- move_applied --
insert into inbox (consumer, source, epoch, xid, id) values ($1, $2, $3, $4, $5)
on conflict (consumer, source) do update set epoch = $3, xid = $4, id = $5

