"""Logging in, keeping tokens, where --output stands, completion, interruption: the command line between calls."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddleflow.queue.v1 import queue_pb2
from support.command_line import CommandLine
from support.fake_paddleflow import FakePaddleFlow
from support.fake_services import Stream
from support.repository import BIN


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain_environment: None) -> Path:
    """A home without a configuration."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def environ_of(command_line: CommandLine, **more: str) -> dict[str, str]:
    return os.environ | {"PADDLEFLOW_CONFIG": str(command_line.config)} | more


def test_commands_share_one_login(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    for _ in range(3):
        command_line.output("queue list")
    assert fake.world.logins == 1
    [kept] = (command_line.config.parent / "tokens").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_token_that_was_revoked_is_replaced(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    command_line.output("queue list")
    fake.world.good_tokens.clear()
    command_line.output("queue list")
    assert fake.world.logins == 2


def test_a_token_of_the_environment_needs_no_password(
    fake: FakePaddleFlow, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.world.good_tokens.add("from-ci")
    monkeypatch.setenv("PADDLEFLOW_TOKEN", "from-ci")
    command_line.output("queue list")
    assert fake.world.logins == 0


def test_after_a_login_no_password_is_needed(fake: FakePaddleFlow, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PADDLEFLOW_SERVER_HOST", fake.address)
    config = home / ".paddleflow" / "paddleflow.ini"
    unconfigured = CommandLine(Path())
    said = unconfigured.run_without_config("login -u alice --password -", typed="secret1\n")
    assert said.exit_code == 0, said.stderr
    assert "login success: alice" in said.stdout
    monkeypatch.delenv("PADDLEFLOW_SERVER_HOST")
    assert unconfigured.run_without_config("queue list").exit_code == 0
    assert "password" not in config.read_text()
    assert fake.world.logins == 1


def test_a_login_as_somebody_else_leaves_the_configuration_alone(
    fake: FakePaddleFlow, command_line: CommandLine
) -> None:
    before = command_line.config.read_text()
    result = command_line.run("login -u alice --password secret1")
    assert result.exit_code == 0
    assert "set `name = alice` under [user]" in result.stderr
    assert command_line.config.read_text() == before


def test_a_password_is_asked_for_and_never_shown(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    result = command_line.run("user add alice", typed="secret7\nsecret7\n")
    assert result.exit_code == 0
    assert "secret7" not in result.output
    assert [request.password for request in fake.world.requests if hasattr(request, "password")][-1] == "secret7"


def test_passwords_that_differ_are_asked_for_again(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    result = command_line.run("user add alice", typed="secret7\nsecret8\nsecret9\nsecret9\n")
    assert result.exit_code == 0
    assert [request.password for request in fake.world.requests if hasattr(request, "password")][-1] == "secret9"


@pytest.mark.parametrize(
    "command",
    [
        "--output json queue list",
        "-o json queue list",
        "queue list --output json",
        "queue list -o json",
        "--output text queue list -o json",
    ],
)
def test_output_stands_before_or_after_the_command_and_the_last_counts(command_line: CommandLine, command: str) -> None:
    assert json.loads(command_line.output(command)) == []


def test_the_environment_chooses_the_output_too(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PADDLEFLOW_OUTPUT", "json")
    assert json.loads(command_line.output("queue list")) == []
    assert command_line.output("queue list -o table").startswith("no queue found")


def test_a_configuration_can_be_named_on_the_command_line(command_line: CommandLine) -> None:
    result = CommandLine(Path("/nowhere")).run(f"--pf_config {command_line.config} version")
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("paddleflow que", ["plain,queue"]),
        ("paddleflow queue show team-", ["plain,team-a", "plain,team-b"]),
        ("paddleflow queue create x default 1 1Gi --quota v", ["plain,volcanoCapabilityQuota"]),
    ],
)
def test_a_shell_completes_commands_choices_and_names(
    fake: FakePaddleFlow, command_line: CommandLine, words: str, completed: list[str]
) -> None:
    fake.world.queues = {name: queue_pb2.Queue(name=name) for name in ("team-a", "team-b", "other")}
    environ = environ_of(
        command_line, _PADDLEFLOW_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1)
    )
    done = subprocess.run([BIN / "paddleflow"], env=environ, capture_output=True, text=True)
    assert done.stdout.splitlines() == completed


def test_completion_is_silent_where_the_server_does_not_answer(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    fake.stop()
    environ = environ_of(
        command_line, _PADDLEFLOW_COMPLETE="bash_complete", COMP_WORDS="paddleflow queue show t", COMP_CWORD="3"
    )
    done = subprocess.run([BIN / "paddleflow"], env=environ, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")


@pytest.fixture
def watching(fake: FakePaddleFlow, command_line: CommandLine) -> Iterator[subprocess.Popen[str]]:
    """`paddleflow queue watch`, which has been told of one queue."""
    message = queue_pb2.WatchQueuesResponse(resume_token="t", bookmark=True)
    message.events.add(kind=4, queue=queue_pb2.Queue(name="team-a"))
    fake.world.streams = [Stream([message], silent=True)]
    with subprocess.Popen(
        [BIN / "paddleflow", "queue", "watch"],
        env=environ_of(command_line),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def test_a_watch_prints_at_once_and_ends_quietly_when_interrupted(watching: subprocess.Popen[str]) -> None:
    assert watching.stdout is not None
    assert "team-a" in watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    out, err = watching.communicate(timeout=20)
    assert (watching.returncode, out, err) == (130, "", "")


def test_a_list_can_be_watched(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    fake.world.streams = [Stream([queue_pb2.WatchQueuesResponse(resume_token="t", bookmark=True)], silent=True)]
    with subprocess.Popen(
        [BIN / "paddleflow", "queue", "list", "--watch"], env=environ_of(command_line), stdout=subprocess.PIPE
    ) as process:
        deadline = 200
        while not fake.world.asked(queue_pb2.WatchQueuesRequest) and deadline:
            deadline -= 1
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.1)
        process.kill()
    assert fake.world.asked(queue_pb2.WatchQueuesRequest)
