-- The kit's tables, as the migrations make them: every service has them in its own schema.
-- Whoever changes a table writes a migration, and the result here; a test compares the two.

-- Which migrations were applied. Made by the runner of migrations, before the first of them.
create table migrations (
    name text primary key,  -- of the file
    checksum text not null,  -- SHA-256 of the file in hexadecimal; a file must not change any more
    apply_time timestamptz not null default now()
);

-- Which life of which installation this is. One row.
create table install (
    only_one boolean primary key default true check (only_one),
    epoch uuid not null default gen_random_uuid(),  -- the life of this data; a restore from a back-up starts a new one
    installation uuid not null default gen_random_uuid(),  -- names the installation for as long as it lives
    secret bytea not null  -- key of digests and page tokens: 32 bytes of chance
        default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
        check (length(secret) = 32)
);

-- Events, written in the transactions of the changes they tell of. Their order is (xid, id).
create table outbox (
    xid xid8 not null default pg_current_xact_id(),  -- the transaction that wrote the event
    id bigint generated always as identity,  -- unique, but given out before the commit: alone it is no order
    type text not null,  -- full name of the payload's protobuf message
    subject text not null,  -- what it happened to: <kind>/<name>
    version bigint not null,  -- the subject's version after the event
    payload bytea not null,  -- the message, serialized
    trace text not null,  -- W3C traceparent of the call that caused it; empty when that call was not traced
    create_time timestamptz not null default now(),  -- when the change held its locks
    primary key (xid, id)
);

-- Up to where events are no longer kept. One row.
create table outbox_trimmed (
    only_one boolean primary key default true check (only_one),
    xid xid8 not null default '0',  -- of the last event that is gone; 0 as long as all are kept
    id bigint not null default 0
);

-- Up to where events are on the bus. One row.
create table relay_cursor (
    only_one boolean primary key default true check (only_one),
    xid xid8 not null default '0',  -- of the last event that is known to be there; 0 before the first
    id bigint not null default 0
);

-- How far the consumers in this service have applied the events of other services. Moves with the effects.
create table inbox (
    consumer text not null,  -- name of the consumer inside this service
    source text not null,  -- the service whose events these are
    epoch text not null,  -- the life of the source's data
    xid xid8 not null,  -- of the last applied event, in the source
    id bigint not null,
    primary key (consumer, source)
);

-- Replies to requests that took effect, for their repetitions.
create table requests (
    principal text not null,  -- who asked
    method text not null,  -- as gRPC writes it
    request_id text not null,  -- the caller's id for the request
    digest bytea not null,  -- keyed hash of the request without its id
    reply bytea not null,  -- serialized; never holds a secret
    create_time timestamptz not null default now(),  -- when the request took effect
    primary key (principal, method, request_id)
);
create index requests_create_time on requests (create_time);

-- Who changed what. Written in the transaction of the change, and only ever added to.
create table audit (
    id bigint generated always as identity primary key,
    create_time timestamptz not null default now(),  -- when the change held its locks
    actor text not null,  -- who: user/<name> or service/<name>
    on_behalf_of text not null,  -- for whom, if a service acted for a user; else empty
    method text not null,  -- as gRPC writes it
    subject text not null,  -- what was changed: <kind>/<name>
    peer text not null,  -- from which address the call came
    request_id text not null  -- the caller's id for the request; empty if it gave none
);
create index audit_actor on audit (actor, id);
create index audit_subject on audit (subject, id);
create index audit_create_time on audit (create_time);

-- Who may do what only one instance may do.
create table leases (
    name text primary key,  -- what it is a lease of
    holder text not null,  -- the instance that holds it, or held it last
    address text not null,  -- where the holder serves calls
    fence bigint not null,  -- grows with each new holder: an effect that carries an older one is refused
    expires timestamptz not null,  -- when the lease ends unless it is renewed, by this server's clock
    ttl interval not null,  -- how long before its end it was taken or last renewed
    unique (name, fence)  -- makes a new fence wait for changes that hold the old one (`for key share`)
);
