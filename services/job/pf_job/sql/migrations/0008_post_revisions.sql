-- In its place is lives_to_do, which knows of one stage more.
drop index lives_at_work;
