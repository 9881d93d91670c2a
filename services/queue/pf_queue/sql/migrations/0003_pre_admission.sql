-- Workloads that wait or hold something, those that are over, and what was decided about them.
-- Times inside of JSON are microseconds since 1970.

create table workloads (
    id text collate "C" primary key,
    queue text collate "C" not null references queues,
    spec jsonb not null,
    standing jsonb not null
);
comment on table workloads is 'Those that are not over. Only the leader of admission writes them; it reads them once, when it begins to lead.';
comment on column workloads.id is 'The job and the attempt, with a slash between.';
comment on column workloads.spec is 'What is asked for; never changes.';
comment on column workloads.standing is 'Where it stands.';
create index workloads_queue on workloads (queue);

create table workloads_over (
    id text collate "C" primary key,
    queue text collate "C" not null,
    spec jsonb not null,
    standing jsonb not null,
    end_time timestamptz not null
);
comment on table workloads_over is 'Those that are over, so that nobody begins them again; their queues may be gone.';
create index workloads_over_end_time on workloads_over (end_time);
create index workloads_over_queue on workloads_over (queue, end_time, id);

create table decisions (
    id bigint generated always as identity primary key,
    time timestamptz not null,
    job text collate "C" not null,
    attempt integer not null,
    queue text collate "C" not null,
    kind text not null,
    replicas jsonb not null,
    why text not null,
    beneficiary text not null
);
comment on table decisions is 'What was decided about workloads.';
comment on column decisions.replicas is
    'What it is about: of each role the name, what the workload cannot run without, and the surplus; none if it waits again.';
comment on column decisions.beneficiary is 'For which workload somebody must leave; empty for none.';
create index decisions_queue on decisions (queue, id);
create index decisions_job on decisions (job, id);
create index decisions_time on decisions (time);
