-- In its place is lives_at_work, which knows of more stages.
drop index lives_owed;
