alter table leftovers add column time timestamptz not null default now();
comment on column leftovers.time is 'When the job was forgotten.';
create index leftovers_time on leftovers (time);
