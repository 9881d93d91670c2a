-- How much may lie in filesystems.

alter table filesystems
    add column quota_bytes bigint not null default 0,
    add column quota_files bigint not null default 0;
alter table filesystems add constraint filesystems_quota check (quota_bytes >= 0 and quota_files >= 0);
comment on column filesystems.quota_bytes is 'Bytes that may lie there, which mounts hold; 0: any number.';
comment on column filesystems.quota_files is 'Files, likewise.';
