create table install (
    only_one boolean primary key default true check (only_one),
    epoch uuid not null default gen_random_uuid(),
    installation uuid not null default gen_random_uuid(),
    secret bytea not null
        default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
        check (length(secret) = 32)
);

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

create table outbox_trimmed (
    only_one boolean primary key default true check (only_one),
    xid xid8 not null default '0',
    id bigint not null default 0
);

create table relay_cursor (
    only_one boolean primary key default true check (only_one),
    xid xid8 not null default '0',
    id bigint not null default 0
);

create table inbox (
    consumer text not null,
    source text not null,
    epoch text not null,
    xid xid8 not null,
    id bigint not null,
    primary key (consumer, source)
);

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

create table leases (
    name text primary key,
    holder text not null,
    address text not null,
    fence bigint not null,
    expires timestamptz not null,
    ttl interval not null,
    unique (name, fence)
);

insert into install default values;
insert into outbox_trimmed default values;
insert into relay_cursor default values;
