-- When pipelines run by themselves.

create sequence schedule_version;
comment on sequence schedule_version is 'Versions of schedules. One for all.';
create sequence schedule_ids;
comment on sequence schedule_ids is 'Numbers in the ids of schedules.';

create table schedules (
    id text collate "C" primary key,
    number bigint generated always as identity,
    owner text collate "C" not null,
    owner_since timestamptz not null,
    name text collate "C" not null,
    description text not null,
    pipeline text collate "C" not null,
    pipeline_version integer not null,
    parameters jsonb not null,
    crontab text not null,
    time_zone text not null,
    start_time timestamptz not null,
    end_time timestamptz,
    concurrency integer not null,
    policy text not null,
    expire interval not null,
    catchup text not null,
    state text not null,
    message text not null,
    next_time timestamptz,
    wake_time timestamptz,
    looked_time timestamptz not null,
    create_time timestamptz not null,
    update_time timestamptz not null,
    version bigint not null,
    constraint schedules_name unique (owner, owner_since, name)
) with (fillfactor = 70);
comment on table schedules is 'When versions of pipelines run by themselves.';
comment on column schedules.owner_since is 'When the user was added who owns it, since names are given again.';
comment on column schedules.number is 'Order in which they were made.';
comment on column schedules.next_time is 'The first tick of which it is not settled what becomes of it.';
comment on column schedules.wake_time is 'When the schedule is to be looked at.';
comment on column schedules.looked_time is 'When it was looked at last. Ticks until then were not missed.';
create unique index schedules_number on schedules (number);
create index schedules_wake on schedules (wake_time) where wake_time is not null;
create index schedules_blocked on schedules (id) where state = 'running' and next_time <= looked_time;
create index schedules_pipeline on schedules (pipeline, pipeline_version);

create table schedule_ticks (
    schedule text collate "C" not null references schedules on delete cascade,
    time timestamptz not null,
    run text collate "C" not null,
    skipped boolean not null,
    primary key (schedule, time)
);
comment on table schedule_ticks is 'Ticks that got their run. A tick has one row, and so it gets one run.';
comment on column schedule_ticks.skipped is 'The run only tells that the tick was passed over.';
