alter table jobs add column owner_since timestamptz;
comment on column jobs.owner_since is 'When the user was added who owns it, since names are given again; null if a service does.';
alter table spans add column owner_since timestamptz;
comment on column spans.owner_since is 'As that of the job.';

-- Whoever owns what there is was added before it was accepted.
update jobs set owner_since = accept_time from lives where lives.id = jobs.id;
update spans set owner_since = accept_time;

create index jobs_owners on jobs (owner, owner_since, id) where owner_since is not null;
