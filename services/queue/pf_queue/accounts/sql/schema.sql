-- Names sort by their bytes, as they do in Python.

create sequence account_version;
comment on sequence account_version is
    'Versions of users and grants. One for all, never reset: what is deleted and added anew goes on growing.';

create table users (
    name text collate "C" primary key constraint users_name_form check (name ~ '^[A-Za-z0-9]{4,16}$'),
    password text not null,
    version bigint not null,
    create_time timestamptz not null,
    update_time timestamptz not null
);
comment on table users is 'Who may call; root is one of them.';
comment on column users.name is '4 to 16 letters and digits.';
comment on column users.password is 'Hashed: $scrypt$ln=14,r=8,p=1$<salt>$<digest>.';
comment on column users.version is 'Grows with each change of the user.';
comment on column users.create_time is 'When the user was added.';
comment on column users.update_time is 'When the user or its password changed last.';

create table tokens (
    id text collate "C" primary key,
    user_name text collate "C" not null constraint tokens_user references users (name) on delete cascade,
    description text not null,
    create_time timestamptz not null,
    expire_time timestamptz not null,
    revoke_time timestamptz
);
create index tokens_newest on tokens (create_time desc, id desc);
create index tokens_user_newest on tokens (user_name, create_time desc, id desc);
create index tokens_expire_time on tokens (expire_time);
comment on table tokens is 'What is known of tokens; a secret is not kept, but signed from this.';
comment on column tokens.id is 'A UUID of version 7; the claim jti.';
comment on column tokens.user_name is 'Whose token it is.';
comment on column tokens.description is 'What it is for; empty for that of a login.';
comment on column tokens.create_time is 'When it was made.';
comment on column tokens.expire_time is 'When it ends by itself; it is swept some time after.';
comment on column tokens.revoke_time is 'When it was revoked; null if it was not.';

create table grants (
    user_name text collate "C" not null constraint grants_user references users (name),
    kind text collate "C" not null constraint grants_kind check (kind in ('queue', 'filesystem')),
    resource text collate "C" not null,
    version bigint not null,
    create_time timestamptz not null,
    primary key (user_name, kind, resource)
);
create index grants_resource on grants (kind, resource, user_name);
comment on table grants is 'Who may use what. Removed one by one, also with their user, because each removal is an event.';
comment on column grants.user_name is 'Who; never root, who may use everything.';
comment on column grants.kind is 'What kind of resource.';
comment on column grants.resource is 'Its name.';
comment on column grants.version is 'Taken when the grant was made.';
comment on column grants.create_time is 'When the grant was made.';
