-- What runs read and wrote, and the results that may be used again. Rows are removed with their runs, by whoever does that.

create table artifact_events (
    number bigint generated always as identity,
    run text collate "C" not null,
    node text collate "C" not null,
    use text not null,
    artifact text collate "C" not null,
    step text not null,
    filesystem_id text collate "C" not null,
    filesystem text collate "C" not null,
    owner text collate "C" not null,
    owner_since timestamptz not null,
    paths text[] not null,
    meta text not null,
    digest text not null,
    job text not null,
    cached boolean not null,
    run_time timestamptz not null,
    create_time timestamptz not null,
    update_time timestamptz not null,
    primary key (run, node, use, artifact)
);
comment on table artifact_events is 'Which step read or wrote what.';
comment on column artifact_events.number is 'Order in which they were noted first.';
comment on column artifact_events.owner_since is 'As that of the run.';
comment on column artifact_events.run_time is 'When the run was made.';
create unique index artifact_events_number on artifact_events (number);
create index artifact_events_owner on artifact_events (owner, number);
create index artifact_events_paths on artifact_events using gin (paths);

create table cached_results (
    number bigint generated always as identity primary key,
    owner text collate "C" not null,
    owner_since timestamptz not null,
    filesystem_id text collate "C" not null,
    origin text collate "C" not null,
    step_key text collate "C" not null,
    files_key text collate "C" not null,
    run text collate "C" not null,
    node text collate "C" not null,
    component text collate "C" not null,
    job text not null,
    filesystem text collate "C" not null,
    max_expired_time bigint not null,
    outputs text not null,
    results text not null,
    explanation text not null,
    create_time timestamptz not null,
    update_time timestamptz not null,
    constraint cached_results_node unique (run, node)
);
comment on table cached_results is 'Results of steps that succeeded.';
comment on column cached_results.owner_since is 'As that of the run.';
comment on column cached_results.step_key is 'Of all that decides whether a step is the same, but for files.';
comment on column cached_results.files_key is 'Of the contents of files that decide it.';
comment on column cached_results.component is 'The path of the node in its document.';
comment on column cached_results.max_expired_time is 'Seconds after which it counts no more; -1: never.';
comment on column cached_results.results is 'JSON as it was written: jsonb would make whole numbers of large ones with a point.';
create index cached_results_key on cached_results (step_key, origin, owner, owner_since, filesystem_id, number desc);
create index cached_results_component on cached_results (origin, component, number desc);
create index cached_results_owner on cached_results (owner, number);

create table cached_takings (
    number bigint generated always as identity,
    result bigint not null,
    maker text collate "C" not null,
    taker text collate "C" not null,
    primary key (result, taker)
);
comment on table cached_takings is 'Which runs took which results. Stays when the result is forgotten: its artifacts are still used.';
create index cached_takings_maker on cached_takings (maker, number);
create index cached_takings_taker on cached_takings (taker);

create table cached_claims (
    owner text collate "C" not null,
    owner_since timestamptz not null,
    filesystem_id text collate "C" not null,
    origin text collate "C" not null,
    step_key text collate "C" not null,
    files_key text collate "C" not null,
    run text collate "C" not null,
    node text collate "C" not null,
    primary key (step_key, files_key, origin, owner, owner_since, filesystem_id)
);
comment on table cached_claims is 'Which node does what now, so that others which would do the same wait for it.';
comment on column cached_claims.owner_since is 'As that of the run.';
create index cached_claims_node on cached_claims (run, node);
