-- Pipelines and their versions.

create sequence pipeline_numbers;
comment on sequence pipeline_numbers is 'Numbers in the ids of pipelines.';
create sequence pipeline_changes;
comment on sequence pipeline_changes is 'Versions of the rows of pipelines. One for all, never reset.';

create table pipelines (
    number bigint primary key,
    owner text collate "C" not null,
    owner_since timestamptz not null,
    name text collate "C" not null,
    description text not null,
    newest integer not null,
    last integer not null,
    create_time timestamptz not null,
    update_time timestamptz not null,
    version bigint not null,
    constraint pipelines_name unique (owner, owner_since, name)
);
comment on table pipelines is 'Documents with names, which have versions.';
comment on column pipelines.owner_since is 'When the user was added who owns it, since names are given again.';
comment on column pipelines.number is 'In the id: ppl-<number>.';
comment on column pipelines.newest is 'The newest version that there is.';
comment on column pipelines.last is 'The last number that was given to a version.';
comment on column pipelines.version is 'Grows with each change of the row: the etag.';
create index pipelines_owner on pipelines (owner, number);

create table pipeline_versions (
    pipeline bigint not null references pipelines on delete cascade,
    number integer not null,
    document text not null,
    digest text collate "C" not null,
    filesystem text collate "C" not null,
    path text not null,
    author text not null,
    create_time timestamptz not null,
    primary key (pipeline, number)
);
comment on table pipeline_versions is 'What pipelines were at one time. Never changed.';
comment on column pipeline_versions.digest is 'Of what the document means.';
comment on column pipeline_versions.filesystem is 'The name of the main filesystem.';
comment on column pipeline_versions.path is 'The file it was read from.';
