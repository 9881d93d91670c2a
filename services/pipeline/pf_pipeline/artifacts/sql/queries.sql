-- Queries on artifacts. A filter that is null matches all.

-- record --
insert into artifact_events (
    run, node, use, artifact, step, filesystem_id, filesystem, owner, paths, meta, digest, job, cached, run_time,
    owner_since, create_time, update_time
)
select
    run, node, use, artifact, step, filesystem_id, filesystem, owner,
    array(select jsonb_array_elements_text(paths::jsonb)), meta, digest, job, cached, run_time,
    owner_since, $16, $16
from unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::boolean[], $14::timestamptz[], $15::timestamptz[]
) with ordinality as given (
    run, node, use, artifact, step, filesystem_id, filesystem, owner, paths, meta, digest, job, cached, run_time,
    owner_since, place
)
order by place
on conflict (run, node, use, artifact) do update
set step = excluded.step, filesystem_id = excluded.filesystem_id, filesystem = excluded.filesystem,
    owner = excluded.owner, paths = excluded.paths, meta = excluded.meta, digest = excluded.digest, job = excluded.job,
    cached = excluded.cached, run_time = excluded.run_time, owner_since = excluded.owner_since,
    update_time = excluded.update_time

-- events --
select * from artifact_events
where ($1::bigint = 0 or number < $1)
    and ($3::text[] is null or owner = any ($3))
    and ($4::text[] is null or filesystem = any ($4))
    and ($5::text[] is null or run = any ($5))
    and ($6::text[] is null or use = any ($6))
    and (
        $7::text[] is null
        or exists (select from unnest(paths) as path, unnest($7) as prefix where starts_with(path, prefix))
    )
    and ($8::timestamptz is null or run_time >= $8)
    and ($9::timestamptz is null or run_time < $9)
    and ($10::text is null or owner = $10 and owner_since >= $11::timestamptz)
order by number desc
limit $2

-- events_at --
select distinct on (number) artifact_events.*
from unnest($1::text[], $2::text[]) as place (at, path)
join artifact_events on filesystem_id = place.at and paths @> array[place.path]
where use = $3 and ($5::text is null or owner = $5 and owner_since >= $6::timestamptz)
order by number desc
limit $4

-- events_of --
select artifact_events.*
from unnest($1::text[], $2::text[]) as node_key (of_run, of_node)
join artifact_events on run = of_run and node = of_node
where use = $3
order by number

-- add_results --
insert into cached_results (
    owner, owner_since, filesystem_id, origin, step_key, files_key, run, node, component, job, filesystem,
    max_expired_time, outputs, results, explanation, create_time, update_time
)
select
    owner, owner_since, filesystem_id, origin, step_key, files_key, run, node, component, job, filesystem,
    max_expired_time, outputs, results, explanation, $16, $16
from unnest(
    $1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::bigint[], $13::text[], $14::text[], $15::text[]
) with ordinality as given (
    owner, owner_since, filesystem_id, origin, step_key, files_key, run, node, component, job, filesystem,
    max_expired_time, outputs, results, explanation, place
)
order by place
on conflict on constraint cached_results_node do update
set owner = excluded.owner, owner_since = excluded.owner_since, filesystem_id = excluded.filesystem_id,
    origin = excluded.origin,
    step_key = excluded.step_key, files_key = excluded.files_key, component = excluded.component, job = excluded.job,
    filesystem = excluded.filesystem, max_expired_time = excluded.max_expired_time, outputs = excluded.outputs,
    results = excluded.results, explanation = excluded.explanation, create_time = excluded.create_time,
    update_time = excluded.update_time
returning number, run, node, create_time, update_time

-- results --
select
    cached_results.*,
    array(select taker from cached_takings where result = cached_results.number order by number) as used_by
from cached_results
where ($1::bigint = 0 or number < $1)
    and ($3::text[] is null or owner = any ($3))
    and ($4::text[] is null or filesystem = any ($4))
    and ($5::text[] is null or run = any ($5))
    and ($6::text is null or owner = $6 and owner_since >= $7::timestamptz)
order by number desc
limit $2

-- result --
select
    cached_results.*,
    array(select taker from cached_takings where result = cached_results.number order by number) as used_by
from cached_results
where number = $1

-- candidates --
-- Of the explanation nothing is needed, and it is the largest part.
select kept.*
from unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[])
    as wanted (owner, owner_since, filesystem_id, origin, step_key)
cross join lateral (
    select
        number, owner, owner_since, filesystem_id, origin, step_key, files_key, run, node, component, job, filesystem,
        max_expired_time, outputs, results, '{}' as explanation, '{}'::text[] as used_by, create_time, update_time
    from cached_results
    where cached_results.step_key = wanted.step_key
        and cached_results.origin = wanted.origin
        and cached_results.owner = wanted.owner
        and cached_results.owner_since = wanted.owner_since
        and cached_results.filesystem_id = wanted.filesystem_id
        and (max_expired_time < 0 or extract(epoch from $6::timestamptz - create_time) < max_expired_time)
    order by number desc
    limit $7
) as kept
order by number desc

-- nearest --
select *, '{}'::text[] as used_by from cached_results
where origin = $3 and component = $4 and owner = $1 and owner_since = $5 and filesystem_id = $2
order by number desc
limit $6

-- remove_results --
delete from cached_results where number = any ($1)

-- take --
insert into cached_takings (result, maker, taker)
select result, maker, taker
from unnest($1::bigint[], $2::text[], $3::text[]) with ordinality as given (result, maker, taker, place)
order by place
on conflict (result, taker) do nothing

-- touch_results --
update cached_results set update_time = $2 where number = any ($1)

-- takers --
select maker, taker from cached_takings where maker = any ($1) group by maker, taker order by min(number)

-- claim --
-- Always in the same order, lest two changes wait for one another. A claim that is there is locked: whoever gives it up
-- waits, and sees then who waits for it.
insert into cached_claims as kept (owner, owner_since, filesystem_id, origin, step_key, files_key, run, node)
select owner, owner_since, filesystem_id, origin, step_key, files_key, run, node
from unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
    as given (owner, owner_since, filesystem_id, origin, step_key, files_key, run, node)
order by step_key collate "C", files_key collate "C", origin collate "C", owner collate "C", owner_since,
    filesystem_id collate "C"
on conflict (step_key, files_key, origin, owner, owner_since, filesystem_id) do update set run = kept.run
returning owner, owner_since, filesystem_id, origin, step_key, files_key, run, node

-- claimed --
select cached_claims.*
from unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[])
    as given (owner, owner_since, filesystem_id, origin, step_key, files_key)
join cached_claims using (owner, owner_since, filesystem_id, origin, step_key, files_key)

-- holders --
select distinct run, node from cached_claims where (run, node) > ($1, $2) order by run, node limit $3

-- release --
delete from cached_claims
using unnest($1::text[], $2::text[]) as given (of_run, of_node)
where run = of_run and node = of_node
returning cached_claims.*

-- release_runs --
delete from cached_claims where run = any ($1) returning *

-- forget --
with events as (
    delete from artifact_events where run = any ($1)
), results as (
    delete from cached_results where run = any ($1)
), claims as (
    delete from cached_claims where run = any ($1)
)
delete from cached_takings where maker = any ($1) or taker = any ($1)
