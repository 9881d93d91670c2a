-- What others are told when a run is over.

create table notices (
    id text collate "C" primary key,
    run text collate "C" not null,
    owner text collate "C" not null,
    owner_since timestamptz not null,
    means text not null,
    target text not null,
    secret_file text not null,
    filesystem text not null,
    body text not null,
    state text not null default 'pending',
    attempts integer not null default 0,
    message text not null default '',
    due_time timestamptz not null,
    create_time timestamptz not null
);
comment on table notices is 'What others are told when a run is over, until they have been told or it is given up.';
comment on column notices.id is 'The run, and the number of the receiver.';
comment on column notices.owner_since is 'As that of the run.';
comment on column notices.secret_file is 'In the main filesystem of the run: what signs the notice.';
comment on column notices.attempts is 'Those that have begun.';
comment on column notices.due_time is 'When it is tried; while somebody tries it, when another may.';
create index notices_due on notices (due_time) where state = 'pending';
create index notices_run on notices (run);
create index notices_age on notices (create_time);
