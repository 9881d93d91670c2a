"""Whose token a session sends, and what becomes of it when it or the password behind it changes."""

from __future__ import annotations

from pathlib import Path

import pytest

import paddleflow
from paddleflow import aio
from paddleflow.auth.v1 import auth_pb2
from paddleflow.connection import Connection
from paddleflow.models import Queue
from paddleflow.problems import TokenExpired, TokenMissing, TokenRevoked, WrongPassword
from paddleflow.sync import PaddleFlow
from paddleflow.token_cache import FileTokenCache
from support.fake_paddleflow import FakePaddleFlow
from support.fake_services import PASSWORD, Stream

NEW = "secret2"


@pytest.fixture
def known(fake: FakePaddleFlow) -> FakePaddleFlow:
    """A server that knows root's password, and changes it."""
    fake.world.passwords["root"] = PASSWORD
    return fake


def test_a_token_given_is_never_replaced_by_a_login(fake: FakePaddleFlow) -> None:
    with paddleflow.connect(fake.address, token="bad", user="root", password=PASSWORD) as client:
        for _ in range(2):
            with pytest.raises(TokenRevoked):
                client.queues.create(Queue("a"))
    assert fake.world.logins == 0


def test_a_token_given_is_not_replaced_in_a_watch_or_after_one(fake: FakePaddleFlow) -> None:
    fake.world.good_tokens.add("short")
    fake.world.streams = [Stream(ends_with=TokenExpired())]
    with paddleflow.connect(fake.address, token="short", user="root", password=PASSWORD) as client:
        with pytest.raises(TokenExpired):
            next(client.queues.watch())
        client.users.page()
    assert fake.world.logins == 0


def test_a_login_that_is_asked_for_replaces_even_a_token_given(fake: FakePaddleFlow) -> None:
    with paddleflow.connect(fake.address, token="bad", user="root", password=PASSWORD) as client:
        client.tokens.log_in()
        client.users.page()
    assert fake.world.logins == 1


def test_after_a_change_of_ones_own_password_the_session_goes_on(known: FakePaddleFlow) -> None:
    with paddleflow.connect(known.address, user="root", password=PASSWORD) as client:
        client.users.set_password(NEW, name="root", old_password=PASSWORD)
        client.users.page()
        client.users.set_password(PASSWORD, old_password=NEW)
        client.users.page()
    assert known.world.logins == 3


async def test_a_change_of_ones_own_password_can_be_repeated(known: FakePaddleFlow) -> None:
    for _ in range(2):
        async with aio.connect(known.address, user="root", password=PASSWORD) as client:
            await client.users.set_password(NEW, name="root", old_password=PASSWORD, request_id="mine")
            await client.users.page()
    assert known.world.passwords["root"] == NEW
    assert {request.request_id for request in known.world.asked(auth_pb2.SetPasswordRequest)} == {"mine"}


def test_a_wrong_old_password_is_told_and_changes_nothing(known: FakePaddleFlow) -> None:
    with paddleflow.connect(known.address, user="root", password=PASSWORD) as client:
        with pytest.raises(WrongPassword):
            client.users.set_password(NEW, old_password="wrong")
        known.world.good_tokens.clear()
        client.users.page()
    assert [request.password for request in known.world.asked(auth_pb2.LoginRequest)] == [PASSWORD, PASSWORD]


def test_a_session_that_cannot_log_in_is_told_of_the_wrong_password(known: FakePaddleFlow) -> None:
    with (
        paddleflow.connect(known.address, user="root", password="wrong") as client,
        pytest.raises(WrongPassword),
    ):
        client.users.set_password(NEW, old_password="wrong")
    assert known.world.passwords["root"] == PASSWORD


def test_a_kept_token_goes_on_with_the_new_password(known: FakePaddleFlow, tmp_path: Path) -> None:
    cache = FileTokenCache(tmp_path, known.address, "root")
    with PaddleFlow(Connection(known.address, user="root", password=PASSWORD, token_cache=cache)) as client:
        client.tokens.log_in()
    with PaddleFlow(Connection(known.address, user="root", token_cache=cache)) as client:
        client.users.set_password(NEW, old_password=PASSWORD)
        client.users.page()


def test_a_token_given_ends_with_the_password(known: FakePaddleFlow) -> None:
    known.world.good_tokens.add("mine")
    with paddleflow.connect(known.address, token="mine") as client:
        client.users.set_password(NEW, name="root", old_password=PASSWORD)
        with pytest.raises(TokenRevoked):
            client.users.page()


def test_another_ones_password_is_not_taken_for_ones_own(fake: FakePaddleFlow) -> None:
    with paddleflow.connect(fake.address, user="root", password=PASSWORD) as client:
        client.users.set_password(NEW, name="alice")
        fake.world.good_tokens.clear()
        client.users.page()
    assert {request.password for request in fake.world.asked(auth_pb2.LoginRequest)} == {PASSWORD}


def test_without_a_password_there_is_no_login(fake: FakePaddleFlow) -> None:
    with paddleflow.connect(fake.address, user="root") as client, pytest.raises(TokenMissing):
        client.tokens.log_in()
