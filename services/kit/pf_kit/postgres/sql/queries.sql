-- Queries on the kit's own tables.

-- begin_change --
-- The locks come before all else: no transaction id is given out, nor a row read, until they are held.
select now() as time, array(select pg_advisory_xact_lock(key)::text from unnest($1::bigint[]) as key) as locks

-- end_change --
with facts as (
    insert into outbox (type, subject, version, payload, trace)
    select type, subject, version, payload, $5::text
    from unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[])
        with ordinality as fact (type, subject, version, payload, place)
    order by place
), entries as (
    insert into audit (actor, on_behalf_of, method, subject, peer, request_id)
    select actor, on_behalf_of, method, subject, peer, request_id
    from unnest($6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[])
        with ordinality as entry (actor, on_behalf_of, method, subject, peer, request_id, place)
    order by place
), replies as (
    insert into requests (principal, method, request_id, digest, reply)
    select principal, method, request_id, digest, reply
    from unnest($12::text[], $13::text[], $14::text[], $15::bytea[], $16::bytea[])
        as reply (principal, method, request_id, digest, reply)
)
select pg_current_xact_id() as xid

-- known_request --
select digest, reply from requests where principal = $1 and method = $2 and request_id = $3

-- moment --
select pg_current_snapshot()::text

-- events_after --
-- One row without an event if there is none. Events of transactions from `xmin` on may still be overtaken.
select
    (trimmed.xid, trimmed.id) > ($1::xid8, $2::bigint) as expired,
    pg_snapshot_xmin(pg_current_snapshot()) as xmin,
    event.*
from outbox_trimmed as trimmed
left join lateral (
    select xid, id, type, subject, version, payload, trace, create_time
    from outbox
    where (xid, id) > ($1::xid8, $2::bigint) and xid < pg_snapshot_xmin(pg_current_snapshot())
    order by xid, id
    limit $3
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

