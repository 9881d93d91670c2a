-- Names sort by their bytes, as they do in Python.

create sequence job_version;
comment on sequence job_version is 'Versions of jobs. One for all: an id that is used anew goes on growing.';

create table jobs (
    id text collate "C" primary key,
    number bigint generated always as identity,
    owner text collate "C" not null,
    queue text collate "C" not null,
    name text collate "C" not null,
    type text not null,
    labels jsonb not null,
    spec bytea not null,
    resources jsonb not null,
    notes text[] not null,
    part_key text collate "C" constraint jobs_part unique,
    part_scope text collate "C",
    part_epoch bigint
);
comment on table jobs is 'What was asked for. Changes only when somebody asks for something else.';
comment on column jobs.number is 'Order of acceptance.';
comment on column jobs.labels is 'Those of the spec, to be found by.';
comment on column jobs.spec is 'A paddleflow.job.v1.JobSpec with all defaults filled in.';
comment on column jobs.resources is 'What all replicas take together, by resource, without what lies above the minimum.';
comment on column jobs.part_key is 'Which part of something larger it is, unique for ever; null if it is none.';
create unique index jobs_number on jobs (number);
create index jobs_queue on jobs (queue, number);
create index jobs_owner on jobs (owner, number);
create index jobs_labels on jobs using gin (labels jsonb_path_ops);

create table lives (
    id text collate "C" primary key references jobs on delete cascade,
    state text not null,
    stage text not null,
    attempt integer not null,
    retries integer not null,
    ending text,
    abrupt boolean not null,
    message text not null,
    held jsonb,
    not_before timestamptz,
    accept_time timestamptz not null,
    start_time timestamptz,
    finish_time timestamptz,
    due timestamptz,
    kept_until timestamptz,
    update_time timestamptz not null,
    version bigint not null
) with (fillfactor = 70);
comment on table lives is 'Where jobs stand. Apart from what was asked for, because it changes many times for each job.';
comment on column lives.stage is 'What is to be done next.';
comment on column lives.held is 'What the attempt holds in its queue; null if nothing.';
comment on column lives.due is 'When a limit of time is over; null if there is none.';
comment on column lives.kept_until is 'When it may be forgotten; null as long as it is not over.';
create index lives_owed on lives (stage, version) where stage in ('submit', 'launch', 'halt', 'release');
create index lives_unfinished on lives (id) where stage <> 'over';
create index lives_due on lives (due) where due is not null;
create index lives_kept on lives (kept_until) where kept_until is not null;
create index lives_state on lives (state);

create table tasks (
    job text collate "C" not null references jobs on delete cascade,
    attempt integer not null,
    role text not null,
    index integer not null,
    restart integer not null,
    state text not null,
    message text not null,
    machine text not null,
    status integer,
    signal integer,
    accelerators integer[] not null,
    ports jsonb not null,
    start_time timestamptz,
    finish_time timestamptz,
    primary key (job, attempt, role, index, restart)
) with (fillfactor = 70);
comment on table tasks is 'Each start of each replica.';
comment on column tasks.ports is 'What it listens on, by name.';
create index tasks_ports on tasks (state) where ports <> '{}';

create table happenings (
    job text collate "C" not null references jobs on delete cascade,
    number bigint not null,
    time timestamptz not null,
    attempt integer not null,
    state text not null,
    what text not null,
    message text not null,
    role text not null,
    index integer not null,
    primary key (job, number)
);
comment on table happenings is 'What happened to jobs and to their replicas.';

create table scopes (
    name text collate "C" primary key,
    epoch bigint not null
);
comment on table scopes is 'The highest epoch that jobs were made with, for each thing that they are part of.';
