-- card_times --
-- $1 is how fine to tell: 1 by queue, 2 by user, 3 by job.
with meant as (
    select
        queue,
        case when $1 >= 2 then owner else '' end as told_owner,
        case when $1 = 3 then job else '' end as told_job,
        job, cpu, memory, cards, accept_time, start_time, finish_time,
        extract(epoch from least(finish_time, $3) - greatest(start_time, $2))::float8 as seconds
    from spans
    where $2 < $3
        and start_time < $3
        and (finish_time > $2 or finish_time is null)
        and ($4::text[] is null or queue = any ($4))
        and ($5::text[] is null or owner = any ($5))
        and ($6::text[] is null or case when owner = $7 then owner_since >= $8 else queue = any ($6) end)
), wanted as (
    select * from meant where (queue, told_owner, told_job) > ($9, $10, $11)
), totals as (
    select
        queue, told_owner, told_job,
        count(distinct job) as jobs,
        count(distinct job) filter (where finish_time is null) as running,
        sum(seconds) as seconds,
        sum(seconds * cpu) / 1000 as cores,
        sum(seconds * memory) as memory,
        min(accept_time) as accept_time,
        min(start_time) as start_time,
        case when not bool_or(finish_time is null) then max(finish_time) end as finish_time
    from wanted
    group by queue, told_owner, told_job
    order by queue, told_owner, told_job
    limit $12
), alike as (
    select queue, told_owner, told_job, wanted.cards, sum(wanted.seconds) as seconds
    from wanted join totals using (queue, told_owner, told_job)
    where wanted.cards <> '{}'
    group by queue, told_owner, told_job, wanted.cards
), named as (
    select queue, told_owner, told_job, key, sum(value::float8 * alike.seconds) as amount
    from alike cross join lateral jsonb_each_text(alike.cards)
    group by queue, told_owner, told_job, key
), held as (
    select queue, told_owner, told_job, jsonb_object_agg(key, amount) as cards
    from named
    group by queue, told_owner, told_job
), most as (
    select
        queue, told_owner, told_job,
        max((select sum(value::bigint) from jsonb_each_text(cards)))::bigint as cards
    from alike
    group by queue, told_owner, told_job
)
select totals.*, coalesce(held.cards, '{}') as cards, coalesce(most.cards, 0) as most_cards
from totals
    left join held using (queue, told_owner, told_job)
    left join most using (queue, told_owner, told_job)
order by queue, told_owner, told_job
