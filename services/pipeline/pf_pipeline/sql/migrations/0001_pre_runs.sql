-- Names sort by their bytes, as they do in Python.

create sequence run_version;
comment on sequence run_version is 'Versions of runs. One for all.';
create sequence run_ids;
comment on sequence run_ids is 'Numbers in the ids of runs.';

create table runs (
    id text collate "C" primary key,
    number bigint generated always as identity,
    owner text collate "C" not null,
    owner_since timestamptz not null,
    name text collate "C" not null,
    filesystem text collate "C" not null,
    schedule text collate "C" not null,
    pipeline text collate "C" not null,
    document text not null,
    body jsonb not null
);
comment on table runs is 'What was asked for. Never changes.';
comment on column runs.number is 'Order in which they were made.';
comment on column runs.owner_since is 'When the user was added who owns it, since names are given again.';
comment on column runs.document is 'The document as it was given.';
comment on column runs.body is 'All else.';
create index runs_owners on runs (owner, owner_since, id);
create unique index runs_number on runs (number);
create index runs_owner on runs (owner, number);
create index runs_schedule on runs (schedule, number) where schedule <> '';
create index runs_pipeline on runs (pipeline, number) where pipeline <> '';
create index runs_retries on runs ((body->>'retry_of')) where body->>'retry_of' <> '';

create table run_lives (
    id text collate "C" primary key references runs on delete cascade,
    state text not null,
    finish_time timestamptz,
    body jsonb not null,
    update_time timestamptz not null,
    version bigint not null
) with (fillfactor = 70);
comment on table run_lives is 'Where runs stand. Apart from what was asked for, because it changes many times.';
create index run_lives_unfinished on run_lives (id)
    where state in ('initiating', 'pending', 'running', 'terminating');
create index run_lives_finished on run_lives (finish_time) where finish_time is not null;
create index run_lives_state on run_lives (state);

create table nodes (
    run text collate "C" not null references runs on delete cascade,
    path text collate "C" not null,
    place integer not null,
    iteration integer not null,
    state text not null,
    body jsonb not null,
    primary key (run, path)
) with (fillfactor = 70);
comment on table nodes is 'Steps and DAGs of runs, one row for each iteration that has begun.';
comment on column nodes.place is 'The number of the component in the order of the document.';
create index nodes_order on nodes (run, place, iteration, path);

create table loops (
    run text collate "C" not null references runs on delete cascade,
    path text collate "C" not null,
    items jsonb not null,
    primary key (run, path)
);
comment on table loops is 'What components are repeated for.';

create table happenings (
    run text collate "C" not null references runs on delete cascade,
    number bigint not null,
    time timestamptz not null,
    path text collate "C" not null,
    what text not null,
    message text not null,
    node_state text,
    run_state text not null,
    attempt integer not null,
    job text not null,
    primary key (run, number)
);
comment on table happenings is 'What happened in runs.';

create table leavings (
    run text collate "C" primary key,
    owner text collate "C" not null,
    filesystem text collate "C" not null,
    path text not null
);
comment on table leavings is 'Artifacts of runs that are forgotten, until they are removed.';

create table wishes (
    number bigint generated always as identity primary key,
    run text collate "C" not null references runs on delete cascade,
    wanted text not null,
    path text not null,
    by text not null,
    comment text not null
);
comment on table wishes is 'What somebody wants of runs, until whoever drives them has taken it in.';
