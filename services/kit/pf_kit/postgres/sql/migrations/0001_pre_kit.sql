create table install (
    only_one boolean primary key default true check (only_one),
    epoch uuid not null default gen_random_uuid(),
    installation uuid not null default gen_random_uuid(),
    secret bytea not null
        default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
        check (length(secret) = 32)
);
comment on table install is 'One row: which life of which installation this is.';
comment on column install.epoch is 'The life of this data; a restore from a back-up starts a new one.';
comment on column install.installation is 'Names the installation for as long as it lives.';
comment on column install.secret is 'Key of digests and page tokens; 32 bytes of chance.';

create table outbox (
    xid xid8 not null default pg_current_xact_id(),
    id bigint generated always as identity,
    type text not null,
    subject text not null,
    version bigint not null,
    payload bytea not null,
    trace text not null,
    create_time timestamptz not null default now(),
    primary key (xid, id)
);
comment on table outbox is 'Events, written with the changes they tell of; read in the order of (xid, id).';
comment on column outbox.xid is 'The transaction that wrote the event.';
comment on column outbox.id is 'Unique, but given out before the commit: alone it is no order.';
comment on column outbox.type is 'Full name of the payload''s protobuf message.';
comment on column outbox.subject is 'What it happened to: <kind>/<name>.';
comment on column outbox.version is 'The subject''s version after the event.';
comment on column outbox.payload is 'The message, serialized.';
comment on column outbox.trace is 'W3C traceparent of the call; empty when that call was not traced.';
comment on column outbox.create_time is 'When the transaction began.';

create table outbox_trimmed (
    only_one boolean primary key default true check (only_one),
    xid xid8 not null default '0',
    id bigint not null default 0
);
comment on table outbox_trimmed is 'One row: the last event that is no longer kept.';
comment on column outbox_trimmed.xid is '0 as long as everything is kept.';
comment on column outbox_trimmed.id is '0 as long as everything is kept.';

create table relay_cursor (
    only_one boolean primary key default true check (only_one),
    xid xid8 not null default '0',
    id bigint not null default 0
);
comment on table relay_cursor is 'One row: the last event that is on the bus.';
comment on column relay_cursor.xid is '0 before the first.';
comment on column relay_cursor.id is '0 before the first.';

create table inbox (
    consumer text not null,
    source text not null,
    epoch text not null,
    xid xid8 not null,
    id bigint not null,
    primary key (consumer, source)
);
comment on table inbox is 'How far each consumer has applied the events of each service; moves with the effects.';
comment on column inbox.consumer is 'Name of the consumer inside this service.';
comment on column inbox.source is 'The service whose events these are.';
comment on column inbox.epoch is 'The life of the source''s data.';
comment on column inbox.xid is 'The last applied event''s transaction in the source.';
comment on column inbox.id is 'The last applied event''s number in the source.';

create table requests (
    principal text not null,
    method text not null,
    request_id text not null,
    digest bytea not null,
    reply bytea not null,
    create_time timestamptz not null default now(),
    primary key (principal, method, request_id)
);
create index requests_create_time on requests (create_time);
comment on table requests is 'Replies to requests that took effect, for their repetitions.';
comment on column requests.principal is 'Who asked.';
comment on column requests.method is 'The method, as gRPC writes it.';
comment on column requests.request_id is 'The caller''s id for the request.';
comment on column requests.digest is 'Keyed hash of the request without its id.';
comment on column requests.reply is 'The reply, serialized; never holds a secret.';
comment on column requests.create_time is 'When the request took effect.';

create table audit (
    id bigint generated always as identity primary key,
    create_time timestamptz not null default now(),
    actor text not null,
    on_behalf_of text not null,
    method text not null,
    subject text not null,
    peer text not null,
    request_id text not null
);
create index audit_actor on audit (actor, id);
create index audit_subject on audit (subject, id);
create index audit_create_time on audit (create_time);
comment on table audit is 'Who changed what; written with the change, only ever added to.';
comment on column audit.id is 'Grows.';
comment on column audit.create_time is 'When the change began.';
comment on column audit.actor is 'Who: user/<name> or service/<name>.';
comment on column audit.on_behalf_of is 'For whom, if a service acted for a user; else empty.';
comment on column audit.method is 'The method, as gRPC writes it.';
comment on column audit.subject is 'What was changed: <kind>/<name>.';
comment on column audit.peer is 'From which address the call came.';
comment on column audit.request_id is 'The caller''s id for the request; empty if it gave none.';

create table leases (
    name text primary key,
    holder text not null,
    address text not null,
    fence bigint not null,
    expires timestamptz not null,
    unique (name, fence)
);
comment on table leases is 'Who may do what only one instance may do.';
comment on column leases.name is 'What it is a lease of.';
comment on column leases.holder is 'The instance that holds it, or held it last.';
comment on column leases.address is 'Where the holder serves calls.';
comment on column leases.fence is 'Grows with each new holder: an effect that carries an older one is refused.';
comment on column leases.expires is 'When the lease ends unless it is renewed, by this server''s clock.';

insert into install default values;
insert into outbox_trimmed default values;
insert into relay_cursor default values;
