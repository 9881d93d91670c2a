create table leftovers (
    job text collate "C" not null,
    attempt integer not null,
    role text not null,
    index integer not null,
    restart integer not null,
    primary key (job, attempt, role, index, restart)
);
comment on table leftovers is 'Starts of replicas of jobs that are forgotten, of which their runtimes may still keep something.';

create table spent (
    id text collate "C" primary key,
    time timestamptz not null
);
comment on table spent is 'Ids of jobs that are forgotten, as long as anybody may remember their attempts.';
create index spent_time on spent (time);
