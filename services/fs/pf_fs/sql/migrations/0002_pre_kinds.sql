-- Filesystems behind servers, and their secrets.

alter table filesystems drop constraint filesystems_kind;
alter table filesystems add constraint filesystems_kind
    check (kind in ('local', 's3', 'bos', 'hdfs', 'sftp', 'cfs', 'glusterfs', 'afs'));
alter table filesystems alter column folder drop not null;
alter table filesystems
    add column secret_names text[] not null default '{}',
    add column secret_key text collate "C" not null default '',
    add column secret_data bytea not null default '';
alter table filesystems add constraint filesystems_folder
    check ((folder is null) = (kind in ('s3', 'bos', 'hdfs', 'sftp')));
create index filesystems_by_secret_key on filesystems (secret_key, id) where secret_key <> '';
comment on column filesystems.folder is
    'Where the URL led when it was made: an absolute path without links. Null if it lies behind a server.';
comment on column filesystems.properties is 'Settings of the kind: texts by name, without secrets.';
comment on column filesystems.version is 'Taken when the filesystem was made or changed.';
comment on column filesystems.secret_names is 'The properties that are secrets.';
comment on column filesystems.secret_key is 'Which key sealed them; empty if there are none.';
comment on column filesystems.secret_data is 'Their values, sealed for this id, its owner and these names.';
