from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from paddleflow.problems import PasswordTooWeak, WrongPassword
from pf_kit.settings import SettingsError, load
from pf_queue.accounts.domain import Lifetimes
from pf_queue.accounts.seeds import seed_root
from pf_queue.accounts.settings import AccountSettings
from support.accounts import ROOT_PASSWORD, World, empty_world


@pytest.fixture
def world() -> World:
    return empty_world()


async def seed(world: World, password: str) -> bool:
    return await seed_root(world.database, world.store, world.users, password)


async def test_root_is_added_at_the_first_start_only(world: World) -> None:
    assert await seed(world, ROOT_PASSWORD)
    assert not await seed(world, "another1")
    await world.log_in("root", ROOT_PASSWORD, "t1")
    with pytest.raises(WrongPassword):
        await world.log_in("root", "another1", "t2")
    assert [subject for subject, _, _ in await world.told()] == ["user/root"]


async def test_of_two_first_starts_at_once_one_adds_root(world: World) -> None:
    added = await asyncio.gather(*(seed(world, f"rootpass{number}") for number in range(4)))
    assert sorted(added) == [False, False, False, True]
    await world.log_in("root", f"rootpass{added.index(True)}", "t1")


async def test_root_gets_no_weak_password(world: World) -> None:
    with pytest.raises(PasswordTooWeak):
        await seed(world, "root")


def settings(**environ: str) -> AccountSettings:
    return load(AccountSettings, "PF", {f"PF_{name.upper()}": value for name, value in environ.items()})


def test_lifetimes_are_a_day_and_a_year_unless_set() -> None:
    assert settings().lifetimes == Lifetimes() == Lifetimes(timedelta(days=1), timedelta(days=365))
    assert settings(login_hours="2", longest_token_days="7").lifetimes == Lifetimes(timedelta(hours=2), timedelta(7))


def test_a_login_cannot_last_longer_than_any_token() -> None:
    with pytest.raises(SettingsError, match="login_hours is longer than longest_token_days"):
        settings(login_hours="25", longest_token_days="1")


def test_the_password_of_root_is_read_from_a_file_and_never_shown(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(ROOT_PASSWORD + "\n")
    given = settings(root_password_file=str(file))
    assert given.root_password is not None
    assert given.root_password.reveal() == ROOT_PASSWORD
    assert ROOT_PASSWORD not in repr(given)
