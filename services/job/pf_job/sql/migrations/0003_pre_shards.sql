-- What the trainers of a job learn from, cut into shards.

create table datasets (
    job text collate "C" not null references jobs on delete cascade,
    name text collate "C" not null,
    total bigint not null,
    size bigint not null,
    passes integer not null,
    lease interval not null,
    retries integer not null,
    seed bigint,
    digest bytea not null,
    pass integer not null,
    handed bigint not null,
    returned bigint not null,
    done bigint not null,
    failed bigint not null,
    failed_in_all bigint not null,
    kept integer not null,
    epoch bigint not null,
    create_time timestamptz not null,
    update_time timestamptz not null,
    primary key (job, name)
) with (fillfactor = 50);
comment on table datasets is 'What trainers share out, and how far they are.';
comment on column datasets.digest is 'Of the items; empty if there are none.';
comment on column datasets.handed is 'Shards of the pass that somebody has, or had; all others nobody had yet.';
comment on column datasets.epoch is 'Of the last lease. It never goes back.';

create table shards (
    job text collate "C" not null,
    dataset text collate "C" not null,
    pass integer not null,
    number bigint not null,
    epoch bigint not null,
    state text not null,
    failures integer not null,
    reason text not null,
    attempt integer not null,
    role text not null,
    index integer not null,
    restart integer not null,
    request text not null,
    until timestamptz not null,
    primary key (job, dataset, pass, number),
    foreign key (job, dataset) references datasets on delete cascade
) with (fillfactor = 70);
comment on table shards is 'Shards that were handed out and are not done. The others have no row.';
comment on column shards.request is 'With which the lease was asked for; empty if it had no id.';
comment on column shards.until is 'When the lease ends; when it was returned or failed, if nobody has it.';
create index shards_open on shards (job, dataset, until) where state <> 'failed';
create index shards_requests on shards (job, dataset, request) where state = 'leased' and request <> '';

create table items (
    job text collate "C" not null,
    dataset text collate "C" not null,
    part bigint not null,
    items text[] not null,
    primary key (job, dataset, part),
    foreign key (job, dataset) references datasets on delete cascade
);
comment on table items is 'What a dataset consists of, if it is more than a number of records.';
comment on column items.part is 'A hundred items each: a row for each item would take seconds to write.';
