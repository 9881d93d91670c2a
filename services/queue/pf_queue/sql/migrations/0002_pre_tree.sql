-- Clusters, their machines, flavours and the quota tree. Names sort by their bytes, as they do in Python.
-- Amounts of resources are JSON objects: {"cpu": 1500, "memory": 1073741824}; what is absent is not declared.

create sequence tree_version;
comment on sequence tree_version is
    'Versions of clusters, flavours and queues. One for all, never reset: what is deleted and added anew goes on growing.';

create table clusters (
    name text collate "C" primary key check (name ~ '^[A-Za-z0-9_][A-Za-z0-9_-]{0,253}[A-Za-z0-9_]$'),
    type text not null check (type in ('kubernetes', 'local')),
    description text not null,
    endpoint text not null,
    software_version text not null,
    source text not null,
    setting text not null,
    namespaces text[] not null,
    credential bytea,
    status text not null check (status in ('online', 'offline')),
    node_count integer not null default 0 check (node_count >= 0),
    capacity jsonb,
    dedicated jsonb,
    revision bigint not null default 0 check (revision >= 0),
    overcommitted boolean not null default false,
    create_time timestamptz not null,
    update_time timestamptz not null,
    version bigint not null default nextval('tree_version'),
    constraint clusters_reported check ((capacity is null) = (revision = 0) and (dedicated is null) = (revision = 0))
);
comment on column clusters.namespaces is 'Those that queues may use; none means any.';
comment on column clusters.credential is 'Sealed with a key that the database does not have; null if there is none.';
comment on column clusters.capacity is
    'The sum of schedulable machines that are dedicated to no queue, null until machines are reported.';
comment on column clusters.dedicated is
    'The sums of schedulable machines by the queue they are dedicated to, null until machines are reported.';
comment on column clusters.overcommitted is 'True if the guarantees of its queues are more than its machines.';

create table begun (
    only_row boolean primary key default true check (only_row)
);
comment on table begun is
    'Has a row from the moment on that an installation got what it begins with: what is deleted later stays deleted.';

create table nodes (
    cluster text collate "C" not null references clusters on delete cascade,
    name text collate "C" not null,
    allocatable jsonb not null,
    labels jsonb not null,
    schedulable boolean not null,
    dedicated_queue text not null,
    primary key (cluster, name)
);
comment on column nodes.dedicated_queue is 'The queue of physical isolation that has it for itself, empty if shared.';

create table flavours (
    name text collate "C" primary key check (name ~ '^[A-Za-z0-9._-]{1,63}$'),
    resources jsonb not null,
    cluster text collate "C" references clusters,
    creator text not null,
    create_time timestamptz not null,
    update_time timestamptz not null,
    version bigint not null default nextval('tree_version')
);
comment on column flavours.cluster is 'The only one it can be used in, null for any.';
create index flavours_cluster on flavours (cluster);

create table queues (
    name text collate "C" primary key check (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
    cluster text collate "C" not null references clusters,
    namespace text not null,
    quota_type text not null check (quota_type in ('elasticQuota', 'volcanoCapabilityQuota')),
    isolation text not null check (isolation in ('logical', 'physical')),
    parent text collate "C" references queues,
    min jsonb not null,
    max jsonb not null,
    lend_limit jsonb not null,
    weight integer not null check (weight between 1 and 1000000),
    priority integer not null check (priority between -1000 and 1000),
    preemption_policy text not null
        check (preemption_policy in ('reclaim_and_priority', 'reclaim_only', 'never')),
    order_policy text not null check (order_policy in ('best_effort', 'strict_fifo')),
    max_jobs integer not null check (max_jobs >= 0),
    max_per_user jsonb not null,
    max_jobs_per_user integer not null check (max_jobs_per_user >= 0),
    labels jsonb not null,
    state text not null check (state in ('open', 'held', 'draining', 'closing', 'closed')),
    create_time timestamptz not null,
    update_time timestamptz not null,
    version bigint not null default nextval('tree_version'),
    constraint queues_flat check (parent is null or (quota_type = 'elasticQuota' and isolation = 'logical'))
);
comment on column queues.parent is 'The queue above, null at the top of a tree.';
comment on column queues.max is 'The ceilings it sets itself; where it sets none, those above it hold.';
create index queues_beside on queues (cluster, parent);
create index queues_below on queues (parent);
create index queues_isolated on queues (cluster) where isolation = 'physical';

create table promises (
    cluster text collate "C" not null references clusters on delete cascade,
    parent text collate "C" not null,
    resource text collate "C" not null,
    amount numeric not null,
    primary key (cluster, parent, resource)
);
comment on table promises is
    'What the queues directly below each one are guaranteed together; with an empty parent, those at the top that share'
    ' machines. Follows from the queues, which may be a thousand at one place: too many to add up for each change.';

create function keep_promises() returns trigger language plpgsql set search_path from current as $$
begin
    -- Of a queue that is new there is no old row, of one that is removed no new row: their fields are null.
    insert into promises (cluster, parent, resource, amount)
    select cluster, coalesce(parent, ''), resource, sum(amount)
    from (
        select old.cluster, old.parent, resource, -amount::numeric
        from jsonb_each_text(old.min) as before (resource, amount)
        where old.isolation = 'logical'
        union all
        select new.cluster, new.parent, resource, amount::numeric
        from jsonb_each_text(new.min) as after (resource, amount)
        where new.isolation = 'logical'
    ) as changed (cluster, parent, resource, amount)
    group by cluster, parent, resource
    having sum(amount) <> 0
    on conflict (cluster, parent, resource) do update set amount = promises.amount + excluded.amount;
    if tg_op = 'DELETE' then
        delete from promises where cluster = old.cluster and parent = old.name and amount = 0;
    end if;
    return null;
end
$$;
create trigger keep_promises after insert or delete or update of parent, min on queues
    for each row execute function keep_promises();

create view standings as
select
    queue.*,
    (
        -- From the queue up to the top: where both declare a ceiling, the lower one holds.
        with recursive above (parent, ceiling, isolation) as (
            select queue.parent, queue.max, queue.isolation
            union all
            select higher.parent, higher.max || above.ceiling, higher.isolation
            from queues as higher
            join above on higher.name = above.parent
        )
        select case isolation when 'physical' then ceiling else coalesce(clusters.capacity, '{}') || ceiling end
        from above
        where parent is null
    ) as effective_max
from queues as queue
join clusters on clusters.name = queue.cluster;
comment on view standings is
    'Queues with their ceiling after inheritance: what no queue limits, is limited by the machines they share.';
