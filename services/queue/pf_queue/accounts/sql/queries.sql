-- Queries on users, tokens and grants. A filter that is null matches all.

-- next_version --
select nextval('account_version');

-- next_versions --
select nextval('account_version') as version from generate_series(1, $1::int);

-- user --
select name, password, version, create_time, update_time from users where name = $1;

-- users --
select name, password, version, create_time, update_time from users where name > $1 order by name limit $2;

-- add_user --
insert into users (name, password, version, create_time, update_time) values ($1, $2, $3, $4, $5);

-- set_user --
update users set password = $2, version = $3, update_time = $4 where name = $1;

-- remove_user --
delete from users where name = $1;

-- token --
select id, user_name, description, create_time, expire_time, revoke_time from tokens where id = $1;

-- tokens --
select id, user_name, description, create_time, expire_time, revoke_time from tokens
where revoke_time is null and expire_time > $1
    and ($2::timestamptz is null or (create_time, id) < ($2, $3::text))
order by create_time desc, id desc
limit $4;

-- tokens_of_user --
select id, user_name, description, create_time, expire_time, revoke_time from tokens
where user_name = $5 and revoke_time is null and expire_time > $1
    and ($2::timestamptz is null or (create_time, id) < ($2, $3::text))
order by create_time desc, id desc
limit $4;

-- add_token --
insert into tokens (id, user_name, description, create_time, expire_time) values ($1, $2, $3, $4, $5);

-- revoke_token --
update tokens set revoke_time = $2 where id = $1 and revoke_time is null;

-- revoke_tokens --
update tokens set revoke_time = $2 where user_name = $1 and revoke_time is null;

-- grant --
select user_name, kind, resource, version, create_time from grants
where user_name = $1 and kind = $2 and resource = $3;

-- grants --
select user_name, kind, resource, version, create_time from grants
where ($1::text is null or user_name = $1) and ($2::text is null or kind = $2) and ($3::text is null or resource = $3)
    and ($4::text is null or (user_name, kind, resource) > ($4, $5::text, $6::text))
order by user_name, kind, resource
limit $7;

-- granted --
select resource from grants where user_name = $1 and kind = $2;

-- add_grant --
insert into grants (user_name, kind, resource, version, create_time) values ($1, $2, $3, $4, $5);

-- remove_grants --
delete from grants
where ($1::text is null or user_name = $1) and ($2::text is null or kind = $2) and ($3::text is null or resource = $3)
returning user_name, kind, resource, version, create_time;

-- remove_grants_on --
delete from grants where kind = $1 and resource = any ($2)
returning user_name, kind, resource, version, create_time;
