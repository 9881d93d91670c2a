from __future__ import annotations

import pytest

from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1 import event_pb2
from paddleflow.problems import (
    EtagMismatch,
    InvalidArgument,
    PasswordTooWeak,
    PermissionDenied,
    Problem,
    TooManyAttempts,
    UserExists,
    UserIsRoot,
    UserNotFound,
    WrongPassword,
)
from pf_kit.principal import Principal
from pf_queue.accounts.domain import GrantKey, ResourceKind
from support.accounts import PASSWORD, ROOT, ROOT_PASSWORD, SERVICE, World, memory_world, user


@pytest.fixture
async def world() -> World:
    return await memory_world()


async def test_a_new_user_can_log_in_and_is_told_of_without_its_password(world: World) -> None:
    bobby = await world.add_user("bobby", "bobbypass1")
    assert (await world.log_in("bobby", "bobbypass1", "t1")).user == "bobby"
    assert (bobby.create_time, bobby.update_time) == (world.clock.time, world.clock.time)
    subject, version, payload = (await world.told())[-1]
    event = auth_pb2.UserEvent.FromString(payload)
    assert (subject, version) == ("user/bobby", bobby.version)
    assert event.kind == event_pb2.CHANGE_KIND_CREATED
    assert (event.user.name, event.user.etag) == ("bobby", bobby.etag)
    assert b"scrypt" not in payload


async def test_a_name_is_given_once(world: World) -> None:
    with pytest.raises(UserExists):
        await world.add_user("alice")


@pytest.mark.parametrize("name", ["", "bob", "bob-by", "b" * 17, "bobby\x00"])
async def test_a_malformed_name_is_refused_by_its_field(world: World, name: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await world.users.draft(name, PASSWORD)
    assert type(refused.value) is InvalidArgument
    assert [violation.field for violation in refused.value.violations] == ["user.name"]


@pytest.mark.parametrize("password", ["", "abc1", "abcdef", "ABCDE1"])
async def test_a_weak_password_is_refused(world: World, password: str) -> None:
    with pytest.raises(PasswordTooWeak) as refused:
        await world.users.draft("bobby", password)
    assert [violation.field for violation in refused.value.violations] == ["password"]
    assert password == "" or password not in refused.value.message


async def test_a_password_has_at_most_128_characters(world: World) -> None:
    await world.users.draft("bobby", "a1" * 64)
    with pytest.raises(InvalidArgument) as refused:
        await world.users.draft("bobby", "a1" * 64 + "x")
    assert type(refused.value) is InvalidArgument


async def test_all_wrong_fields_are_named_at_once(world: World) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await world.users.draft("bob", "ABC")
    assert [violation.field for violation in refused.value.violations] == ["user.name", "password"]


async def test_a_user_sees_itself_and_root_sees_all(world: World) -> None:
    view = world.database.newest
    assert (await world.users.get(view, user("alice"), "alice")).name == "alice"
    assert (await world.users.get(view, ROOT, "alice")).name == "alice"
    assert (await world.users.get(view, SERVICE, "alice")).name == "alice"


@pytest.mark.parametrize("name", ["root", "nobody"])
async def test_a_user_does_not_even_learn_whether_another_exists(world: World, name: str) -> None:
    with pytest.raises(PermissionDenied):
        await world.users.get(world.database.newest, user("alice"), name)


async def test_who_does_not_exist_is_not_found(world: World) -> None:
    with pytest.raises(UserNotFound):
        await world.users.get(world.database.newest, ROOT, "nobody")


async def test_users_are_listed_by_name(world: World) -> None:
    for name in ("carol", "Bobby", "bobby"):
        await world.add_user(name)
    first = await world.users.page(world.database.newest, "", 3)
    assert [each.name for each in first] == ["Bobby", "alice", "bobby"]
    assert [each.name for each in await world.users.page(world.database.newest, "bobby", 3)] == ["carol", "root"]
    assert [each.name for each in await world.users.all(world.database.newest)] == sorted(
        ["Bobby", "alice", "bobby", "carol", "root"]
    )


async def test_a_new_password_replaces_the_old_one_and_ends_all_tokens(world: World) -> None:
    await world.log_in("alice", PASSWORD, "t1")
    before = await world.users.get(world.database.newest, ROOT, "alice")
    world.clock.move(60)
    await world.set_password(user("alice"), "", PASSWORD, "another1")
    assert await world.tokens.good(world.database.newest, "t1") is None
    with pytest.raises(WrongPassword):
        await world.log_in("alice", PASSWORD, "t2")
    await world.log_in("alice", "another1", "t3")
    assert await world.tokens.good(world.database.newest, "t3") is not None
    after = await world.users.get(world.database.newest, ROOT, "alice")
    assert (after.create_time, after.update_time) == (before.create_time, world.clock.time)
    assert after.version > before.version
    subject, version, payload = (await world.told())[-1]
    assert (subject, version) == ("user/alice", after.version)
    assert auth_pb2.UserEvent.FromString(payload).kind == event_pb2.CHANGE_KIND_UPDATED


@pytest.mark.parametrize("caller", [ROOT, SERVICE])
async def test_root_sets_the_password_of_others_without_the_old_one(world: World, caller: Principal) -> None:
    await world.set_password(caller, "alice", "", "another1")
    await world.log_in("alice", "another1", "t1")


@pytest.mark.parametrize(("caller", "name"), [(user("alice"), "alice"), (ROOT, ""), (ROOT, "root")])
async def test_ones_own_password_needs_the_old_one(world: World, caller: Principal, name: str) -> None:
    with pytest.raises(WrongPassword):
        await world.set_password(caller, name, "wrong1", "another1")
    await world.log_in("alice", PASSWORD, "t1")
    await world.log_in("root", ROOT_PASSWORD, "t2")


@pytest.mark.parametrize(
    ("caller", "name", "new", "problem"),
    [
        (user("alice"), "root", "another1", PermissionDenied),
        (user("alice"), "nobody", "another1", PermissionDenied),
        (ROOT, "nobody", "another1", UserNotFound),
        (user("alice"), "", "weak", PasswordTooWeak),
        (SERVICE, "", "another1", InvalidArgument),
    ],
)
async def test_a_password_is_not_set(
    world: World, caller: Principal, name: str, new: str, problem: type[Problem]
) -> None:
    with pytest.raises(problem):
        await world.set_password(caller, name, PASSWORD, new)
    await world.log_in("alice", PASSWORD, "t1")


async def test_a_password_proved_is_worth_nothing_once_it_is_replaced(world: World) -> None:
    drafted = await world.users.draft_password(world.database.newest, user("alice"), "", PASSWORD, "another1")
    await world.set_password(ROOT, "alice", "", "byroot1")
    with pytest.raises(WrongPassword):
        await world.change(lambda change: world.users.set_password(change, drafted))
    await world.log_in("alice", "byroot1", "t1")


async def test_the_old_password_cannot_be_guessed_faster_than_at_login(world: World) -> None:
    for _ in range(10):
        with pytest.raises(WrongPassword):
            await world.set_password(user("alice"), "", "wrong1", "another1")
    with pytest.raises(TooManyAttempts):
        await world.set_password(user("alice"), "", PASSWORD, "another1")
    with pytest.raises(TooManyAttempts):
        await world.log_in("alice", PASSWORD, "t1")


async def test_a_deleted_user_leaves_nothing_behind(world: World) -> None:
    key = GrantKey("alice", ResourceKind.QUEUE, "team-a")
    await world.change(lambda change: world.grants.create(change, key))
    await world.log_in("alice", PASSWORD, "t1")
    told_before = len(await world.told())
    await world.change(lambda change: world.users.delete(change, "alice", ""))
    view = world.database.newest
    assert await world.tokens.good(view, "t1") is None
    assert not await world.grants.allowed(view, key)
    with pytest.raises(WrongPassword):
        await world.log_in("alice", PASSWORD, "t2")
    told = (await world.told())[told_before:]
    assert [subject for subject, _, _ in told] == ["grant/alice/queue/team-a", "user/alice"]
    assert world.inheritance.handed == [("alice", "root")]
    assert auth_pb2.GrantEvent.FromString(told[0][2]).kind == event_pb2.CHANGE_KIND_DELETED
    assert auth_pb2.UserEvent.FromString(told[1][2]).kind == event_pb2.CHANGE_KIND_DELETED


async def test_a_user_added_anew_inherits_nothing_and_goes_on_in_version(world: World) -> None:
    await world.log_in("alice", PASSWORD, "t1")
    await world.change(lambda change: world.users.delete(change, "alice", ""))
    await world.add_user("alice", "another1")
    assert await world.tokens.good(world.database.newest, "t1") is None
    versions = [version for subject, version, _ in await world.told() if subject == "user/alice"]
    assert versions == sorted(set(versions))
    assert len(versions) == 3


async def test_an_etag_protects_what_has_changed(world: World) -> None:
    etag = (await world.users.get(world.database.newest, ROOT, "alice")).etag
    await world.set_password(ROOT, "alice", "", "another1")
    with pytest.raises(EtagMismatch):
        await world.change(lambda change: world.users.delete(change, "alice", etag))
    etag = (await world.users.get(world.database.newest, ROOT, "alice")).etag
    await world.change(lambda change: world.users.delete(change, "alice", etag))


@pytest.mark.parametrize(("name", "problem"), [("root", UserIsRoot), ("nobody", UserNotFound)])
async def test_a_user_is_not_deleted(world: World, name: str, problem: type[Problem]) -> None:
    with pytest.raises(problem):
        await world.change(lambda change: world.users.delete(change, name, ""))
    await world.log_in("root", ROOT_PASSWORD, "t1")
