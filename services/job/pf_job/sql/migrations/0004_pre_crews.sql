alter table lives add column crew jsonb, add column settle_time timestamptz;
comment on column lives.crew is 'How many replicas of each role there are to be now; null: as many as it holds.';
comment on column lives.settle_time is 'Since when the crew is as it is; null before it ran.';
create index lives_at_work on lives (stage, version)
where stage in ('submit', 'launch', 'part', 'resize', 'halt', 'release');
