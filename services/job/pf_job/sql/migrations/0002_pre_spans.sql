create table spans (
    number bigint primary key generated always as identity,
    job text collate "C" not null,
    attempt integer not null,
    queue text collate "C" not null,
    owner text collate "C" not null,
    accept_time timestamptz not null,
    start_time timestamptz not null,
    finish_time timestamptz,
    cpu bigint not null,
    memory bigint not null,
    cards jsonb not null
);
comment on table spans is 'What jobs held while they ran. Apart from jobs, because it is kept for longer.';
comment on column spans.finish_time is 'Null as long as it is held.';
comment on column spans.cpu is 'In thousandths of a core.';
comment on column spans.memory is 'In bytes.';
comment on column spans.cards is 'Pieces of all else, by resource.';
create index spans_finish on spans (finish_time);
create index spans_held on spans (job) where finish_time is null;

-- What is still known of the jobs that there are: of each its last attempt, without surplus.
insert into spans (job, attempt, queue, owner, accept_time, start_time, finish_time, cpu, memory, cards)
select
    id, attempt, queue, owner, accept_time, start_time,
    case when stage in ('launch', 'watch', 'halt', 'ending') then null else coalesce(finish_time, update_time) end,
    coalesce((resources ->> 'cpu')::bigint, 0),
    coalesce((resources ->> 'memory')::bigint, 0),
    resources - '{cpu, memory}'::text[]
from jobs join lives using (id)
where start_time is not null and stage in ('launch', 'watch', 'halt', 'ending', 'release', 'over');
