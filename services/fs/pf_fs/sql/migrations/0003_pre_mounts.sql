-- Where filesystems are mounted, and how what is read there is kept.

create table filesystem_mounts (
    filesystem_id text collate "C" not null
        constraint filesystem_mounts_filesystem references filesystems (id) on delete cascade,
    user_name text collate "C" not null,
    mount_id text collate "C" not null,
    node text collate "C" not null,
    path text not null,
    read_only boolean not null,
    etag text not null,
    usage jsonb not null,
    create_time timestamptz not null,
    report_time timestamptz not null,
    primary key (filesystem_id, user_name, mount_id)
);
create index filesystem_mounts_by_place on filesystem_mounts (filesystem_id, node, user_name, mount_id);
create index filesystem_mounts_by_report on filesystem_mounts (report_time);
comment on table filesystem_mounts is 'Mounts, as those tell who mounted them.';
comment on column filesystem_mounts.filesystem_id is 'What is mounted.';
comment on column filesystem_mounts.user_name is 'Whose mount it is.';
comment on column filesystem_mounts.mount_id is 'Chosen by whoever mounts.';
comment on column filesystem_mounts.node is 'The machine.';
comment on column filesystem_mounts.path is 'Where on the machine.';
comment on column filesystem_mounts.read_only is 'True if nothing can be written through it.';
comment on column filesystem_mounts.etag is 'Of the filesystem, when it was mounted.';
comment on column filesystem_mounts.usage is 'What its cache holds and has done.';
comment on column filesystem_mounts.create_time is 'When the first report came.';
comment on column filesystem_mounts.report_time is 'When the last report came.';

create table filesystem_caches (
    filesystem_id text collate "C" primary key
        constraint filesystem_caches_filesystem references filesystems (id) on delete cascade,
    cache jsonb not null
);
comment on table filesystem_caches is 'How those who mount filesystems keep what they have read.';
comment on column filesystem_caches.filesystem_id is 'Whose cache it is.';
comment on column filesystem_caches.cache is 'What was said about it.';
