"""Calls of the client: logging in, tokens, deadlines, problems, pages."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import paddleflow
from paddleflow import aio
from paddleflow.auth.v1 import auth_pb2
from paddleflow.connection import Connection
from paddleflow.models import Queue
from paddleflow.problems import (
    DeadlineExceeded,
    EtagMismatch,
    InvalidArgument,
    MinExceedsParent,
    NotFound,
    Problem,
    QueueNotFound,
    ShuttingDown,
    TokenMissing,
    TokenRevoked,
    TooManyCalls,
    Unavailable,
    Violation,
    WrongPassword,
)
from paddleflow.queue.v1 import queue_pb2
from paddleflow.sync import PaddleFlow
from paddleflow.token_cache import FileTokenCache
from support.fake_paddleflow import FakePaddleFlow
from support.fake_services import PASSWORD


@pytest.fixture
def client(fake: FakePaddleFlow) -> Iterator[PaddleFlow]:
    with paddleflow.connect(fake.address, user="root", password=PASSWORD) as opened:
        yield opened


def test_the_first_call_logs_in_and_the_others_send_the_token(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    client.queues.create(Queue("a"))
    assert client.queues.get("a").name == "a"
    assert fake.world.logins == 1


def test_many_threads_log_in_once(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: client.users.page(), range(32)))
    assert fake.world.logins == 1


async def test_many_tasks_log_in_once(fake: FakePaddleFlow) -> None:
    async with aio.connect(fake.address, user="root", password=PASSWORD) as client:
        await asyncio.gather(*(client.users.page() for _ in range(32)))
    assert fake.world.logins == 1


def test_a_token_given_is_enough(fake: FakePaddleFlow) -> None:
    fake.world.good_tokens.add("mine")
    with paddleflow.connect(fake.address, token="mine") as client:
        client.users.page()
    assert fake.world.logins == 0


def test_without_token_and_password_the_caller_is_told_to_log_in(fake: FakePaddleFlow) -> None:
    with paddleflow.connect(fake.address, user="root") as client, pytest.raises(TokenMissing, match="log in"):
        client.users.page()
    assert fake.world.requests == []


def test_a_wrong_password_is_told(fake: FakePaddleFlow) -> None:
    with paddleflow.connect(fake.address, user="root", password="no") as client, pytest.raises(WrongPassword):
        client.users.page()


def test_a_token_that_is_refused_is_replaced_and_the_change_keeps_its_id(
    fake: FakePaddleFlow, client: PaddleFlow
) -> None:
    client.users.page()
    fake.world.good_tokens.clear()
    client.queues.create(Queue("a"))
    first, second = fake.world.asked(queue_pb2.CreateQueueRequest)
    assert first.request_id == second.request_id
    assert fake.world.logins == 2


def test_a_token_that_cannot_be_replaced_is_refused(fake: FakePaddleFlow) -> None:
    with paddleflow.connect(fake.address, token="old") as client, pytest.raises(TokenRevoked):
        client.users.page()


def test_a_kept_token_saves_the_login_until_it_is_refused(fake: FakePaddleFlow, tmp_path: Path) -> None:
    connection = Connection(
        fake.address, user="root", password=PASSWORD, token_cache=FileTokenCache(tmp_path, fake.address, "root")
    )
    for _ in range(3):
        with PaddleFlow(connection) as client:
            client.users.page()
    assert fake.world.logins == 1
    fake.world.good_tokens.clear()
    for _ in range(2):
        with PaddleFlow(connection) as client:
            client.users.page()
    assert fake.world.logins == 2


def test_every_change_has_an_id_of_its_own_or_the_one_given(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    client.users.create("alice", "pass12")
    client.users.create("bobby", "pass12")
    client.users.create("carol", "pass12", request_id="mine")
    ids = [request.request_id for request in fake.world.asked(auth_pb2.CreateUserRequest)]
    assert ids[2] == "mine"
    assert ids[0] != ids[1]
    assert all(re.fullmatch(r"[0-9a-f]{32}", each) for each in ids[:2])


def test_a_server_that_is_about_to_stop_is_asked_again(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    client.users.page()
    fake.world.failures = [ShuttingDown(), ShuttingDown()]
    client.queues.create(Queue("a"))
    requests = fake.world.asked(queue_pb2.CreateQueueRequest)
    assert len(requests) == 3
    assert len({request.request_id for request in requests}) == 1


def test_a_problem_is_raised_as_its_class_with_all_it_says(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    fake.world.failures = [
        MinExceedsParent("too much", violations=(Violation("queue.min.amounts.cpu", "4 above 2"),), metadata={"a": "b"})
    ]
    with pytest.raises(MinExceedsParent, match="too much") as raised:
        client.queues.create(Queue("a"))
    assert raised.value.violations == (Violation("queue.min.amounts.cpu", "4 above 2"),)
    assert raised.value.metadata == {"a": "b"}


def test_a_problem_can_be_caught_by_its_kind(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    with pytest.raises(NotFound) as raised:
        client.queues.get("none")
    assert isinstance(raised.value, QueueNotFound)


@pytest.mark.parametrize("problem", [EtagMismatch(), InvalidArgument(), TooManyCalls(retry_after=1.5)])
def test_a_problem_is_raised_once(fake: FakePaddleFlow, client: PaddleFlow, problem: Problem) -> None:
    fake.world.failures = [problem]
    with pytest.raises(type(problem)) as raised:
        client.users.page()
    assert raised.value.retry_after == problem.retry_after
    client.users.page()


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/s"
    with paddleflow.connect(address, token="t") as client, pytest.raises(Unavailable, match=re.escape(address)):
        client.users.page()


def test_a_call_ends_at_its_deadline(fake: FakePaddleFlow) -> None:
    fake.world.good_tokens.add("t")
    fake.world.slow = True
    began = time.monotonic()
    with (
        paddleflow.connect(fake.address, token="t", timeout=0.3) as client,
        pytest.raises(DeadlineExceeded, match=r"within 0\.3 s"),
    ):
        client.users.page()
    assert time.monotonic() - began < 5


def test_the_version_needs_no_token(fake: FakePaddleFlow) -> None:
    with paddleflow.connect(fake.address) as client:
        assert client.info.get().version == "9.8.7"


def test_a_list_fetches_page_after_page(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    names = [f"q{number:04}" for number in range(1001)]
    fake.world.queues = {name: queue_pb2.Queue(name=name) for name in names}
    listing = client.queues.list(name_prefix="q")
    assert next(listing).name == "q0000"
    assert len(fake.world.asked(queue_pb2.ListQueuesRequest)) == 1
    assert [queue.name for queue in listing] == names[1:]
    requests = fake.world.asked(queue_pb2.ListQueuesRequest)
    assert [(request.page_token, request.name_prefix) for request in requests] == [
        ("", "q"),
        ("q0499", "q"),
        ("q0999", "q"),
    ]


async def test_a_list_fetches_page_after_page_in_asyncio(fake: FakePaddleFlow) -> None:
    names = [f"q{number:04}" for number in range(1001)]
    fake.world.queues = {name: queue_pb2.Queue(name=name) for name in names}
    async with aio.connect(fake.address, user="root", password=PASSWORD) as client:
        assert [queue.name async for queue in client.queues.list()] == names


def test_the_configuration_of_the_command_line_serves_programs(fake: FakePaddleFlow, tmp_path: Path) -> None:
    config = tmp_path / "paddleflow.ini"
    config.write_text(f"[user]\nname=root\npassword={PASSWORD}\n[server]\npaddleflow_server_host={fake.address}\n")
    with paddleflow.connect_configured(config) as client:
        client.users.page()
    assert (tmp_path / "tokens").is_dir()
