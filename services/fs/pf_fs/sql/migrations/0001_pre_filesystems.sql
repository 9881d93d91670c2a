-- Ids and names sort by their bytes, as they do in Python.

create sequence filesystem_version;
comment on sequence filesystem_version is
    'Versions of filesystems and grants. One for all, never reset: what is deleted and added anew goes on growing.';

create table filesystems (
    id text collate "C" primary key,
    owner text collate "C" not null,
    name text collate "C" not null,
    url text not null,
    kind text collate "C" not null constraint filesystems_kind check (kind in ('local')),
    folder text not null,
    confined boolean not null,
    properties jsonb not null,
    version bigint not null,
    create_time timestamptz not null,
    constraint filesystems_id check (id = 'fs-' || owner || '-' || name),
    constraint filesystems_owner check (owner ~ '^[A-Za-z0-9]{4,16}$'),
    constraint filesystems_name check (name ~ '^[A-Za-z0-9_-]{1,63}$' and length(owner) + length(name) <= 59)
);
create index filesystems_by_owner on filesystems (owner, id);
create index filesystems_by_name on filesystems (name, id);
comment on table filesystems is 'Names for files that lie elsewhere.';
comment on column filesystems.id is 'fs-<owner>-<name>.';
comment on column filesystems.owner is 'The user it belongs to.';
comment on column filesystems.name is 'Unique among the owner''s.';
comment on column filesystems.url is 'Where the files lie, as its maker wrote it.';
comment on column filesystems.kind is 'What kind of place that is: the scheme of the URL.';
comment on column filesystems.folder is 'Where the URL led when it was made: an absolute path without links.';
comment on column filesystems.confined is 'True if the folder has to be one of those for users; false if root made it.';
comment on column filesystems.properties is 'Settings of the kind: texts by name.';
comment on column filesystems.version is 'Taken when the filesystem was made.';
comment on column filesystems.create_time is 'When the filesystem was made.';

create table filesystem_grants (
    filesystem_id text collate "C" not null constraint filesystem_grants_filesystem references filesystems (id),
    user_name text collate "C" not null,
    access text collate "C" not null constraint filesystem_grants_access check (access in ('read', 'read_write')),
    version bigint not null,
    create_time timestamptz not null,
    primary key (filesystem_id, user_name)
);
create index filesystem_grants_by_user on filesystem_grants (user_name, filesystem_id);
comment on table filesystem_grants is
    'With whom filesystems are shared. Removed one by one, also with their filesystem, because each removal is an event.';
comment on column filesystem_grants.filesystem_id is 'What is shared.';
comment on column filesystem_grants.user_name is 'With whom; never root nor the owner, who may do everything.';
comment on column filesystem_grants.access is 'What the user may do.';
comment on column filesystem_grants.version is 'Taken when the grant was made or changed.';
comment on column filesystem_grants.create_time is 'When the grant was made.';
