-- Queries on pipelines and their versions. A filter that is null matches all.

-- next_number --
select nextval('pipeline_numbers');

-- add --
insert into pipelines (
    number, owner, owner_since, name, create_time, description, newest, last, update_time, version
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, nextval('pipeline_changes'))
returning version;

-- pipeline --
select number, owner, owner_since, name, create_time, description, newest, last, update_time, version from pipelines
where number = $1;

-- page --
select number, owner, owner_since, name, create_time, description, newest, last, update_time, version from pipelines
where ($1::bigint = 0 or number < $1)
    and ($3::text[] is null or owner = any ($3))
    and ($4::text[] is null or name = any ($4))
    and ($5::text is null or owner = $5 and owner_since >= $6::timestamptz)
order by number desc
limit $2;

-- owners --
select distinct owner, owner_since from pipelines order by owner, owner_since;

-- owned --
select number, owner, owner_since, name, create_time, description, newest, last, update_time, version from pipelines
where owner = $1 and owner_since = $2
order by number
limit $3;

-- save --
update pipelines
set description = $2, newest = $3, last = $4, update_time = $5, version = nextval('pipeline_changes')
where number = $1
returning version;

-- remove --
delete from pipelines where number = $1 returning nextval('pipeline_changes');

-- version --
select pipeline, number, document, digest, filesystem, path, author, create_time from pipeline_versions
where pipeline = $1 and number = $2;

-- versions --
select pipeline, number, '' as document, digest, filesystem, path, author, create_time from pipeline_versions
where pipeline = $1
    and ($2::text[] is null or filesystem = any ($2))
    and ($3::bigint = 0 or number < $3)
order by number desc
limit $4;

-- add_version --
insert into pipeline_versions (pipeline, number, document, digest, filesystem, path, author, create_time)
values ($1, $2, $3, $4, $5, $6, $7, $8);

-- remove_version --
delete from pipeline_versions where pipeline = $1 and number = $2;
