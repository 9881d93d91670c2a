alter table lives add column revision integer not null default 0;
comment on column lives.revision is 'Grows with each change of what it asks for in its queue.';
create index lives_to_do on lives (stage, version)
where stage in ('submit', 'revise', 'launch', 'part', 'resize', 'halt', 'release');
