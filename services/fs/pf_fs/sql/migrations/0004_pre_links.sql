-- Folders of filesystems in which the files of other places are.

create table filesystem_links (
    filesystem_id text collate "C" not null
        constraint filesystem_links_filesystem references filesystems (id) on delete cascade,
    path text collate "C" not null,
    url text not null,
    kind text collate "C" not null
        constraint filesystem_links_kind check (kind in ('local', 's3', 'bos', 'hdfs', 'sftp', 'cfs', 'glusterfs', 'afs')),
    folder text,
    confined boolean not null,
    properties jsonb not null,
    secret_names text[] not null,
    secret_key text collate "C" not null,
    secret_data bytea not null,
    create_time timestamptz not null,
    constraint filesystem_links_folder check ((folder is null) = (kind in ('s3', 'bos', 'hdfs', 'sftp')))
);
-- A path may be longer than what an index of its own takes.
create unique index filesystem_links_by_path on filesystem_links (filesystem_id, md5(path));
create index filesystem_links_by_secret_key on filesystem_links (secret_key) where secret_key <> '';
comment on table filesystem_links is 'Folders of filesystems in which the files of other places are.';
comment on column filesystem_links.filesystem_id is 'Where the folder is.';
comment on column filesystem_links.path is 'Where in it: relative.';
comment on column filesystem_links.url is 'Where the files lie.';
comment on column filesystem_links.kind is 'What kind of place that is: the scheme of the URL.';
comment on column filesystem_links.folder is
    'Where the URL led when it was made: an absolute path without links. Null if it lies behind a server.';
comment on column filesystem_links.confined is 'True if the folder has to be one of those for users.';
comment on column filesystem_links.properties is 'Settings of the kind: texts by name, without secrets.';
comment on column filesystem_links.secret_names is 'The properties that are secrets.';
comment on column filesystem_links.secret_key is 'Which key sealed them; empty if there are none.';
comment on column filesystem_links.secret_data is 'Their values, sealed for this filesystem, this path and these names.';
comment on column filesystem_links.create_time is 'When the link was made.';
