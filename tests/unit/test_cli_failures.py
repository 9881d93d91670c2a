"""What a command says and returns when it cannot do what it is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddleflow.cli.failure import advice, exit_status, sentence
from paddleflow.problems import (
    Aborted,
    DatabaseUnavailable,
    DeadlineExceeded,
    EtagMismatch,
    InvalidArgument,
    Overloaded,
    PermissionDenied,
    Problem,
    QueueNotFound,
    TokenMissing,
    TokenRevoked,
    Unavailable,
    WrongPassword,
)
from support.command_line import CommandLine
from support.fake_paddleflow import FakePaddleFlow


@pytest.mark.parametrize(
    ("problem", "status"),
    [
        (QueueNotFound(), 1),
        (PermissionDenied(), 1),
        (InvalidArgument(), 1),
        (Overloaded(), 1),
        (Unavailable(), 3),
        (DatabaseUnavailable(), 3),
        (DeadlineExceeded(), 3),
        (TokenMissing(), 4),
        (TokenRevoked(), 4),
        (WrongPassword(), 4),
    ],
)
def test_the_exit_status_tells_what_to_do(problem: Problem, status: int) -> None:
    assert exit_status(problem) == status


@pytest.mark.parametrize(
    ("problem", "says"),
    [
        (Unavailable(), "pf status"),
        (TokenRevoked(), "paddleflow login"),
        (WrongPassword(), "correct the name and the password"),
        (Overloaded(retry_after=2.5), "try again in 2.5 s"),
        (EtagMismatch(), "as it is now"),
        (Aborted(), "as it is now"),
    ],
)
def test_some_problems_come_with_advice(problem: Problem, says: str) -> None:
    assert says in advice(problem)


@pytest.mark.parametrize("problem", [QueueNotFound(), Overloaded(), TokenMissing()])
def test_others_say_all_in_their_message(problem: Problem) -> None:
    assert advice(problem) == ""


def test_the_sentence_is_the_originals() -> None:
    assert sentence("queue show", QueueNotFound("no")) == "queue show failed with message[no]"


def test_a_refusal_goes_to_the_error_output(command_line: CommandLine) -> None:
    result = command_line.run("queue show none -o json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "queue show failed with message[there is no queue none]\n"


def test_a_server_that_is_not_there_is_named_with_its_address(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    fake.stop()
    result = command_line.run("queue list")
    assert result.exit_code == 3
    assert f"queue list failed with message[no answer from {fake.address}" in result.stderr
    assert "is the server running" in result.stderr


def test_a_wrong_password_is_told(fake: FakePaddleFlow, tmp_path: Path, plain_environment: None) -> None:
    result = CommandLine.configured(tmp_path, fake.address, password="wrong").run("queue list")
    assert result.exit_code == 4
    assert "The user name or the password is wrong" in result.stderr


def test_without_a_password_one_is_told_to_log_in(
    fake: FakePaddleFlow, tmp_path: Path, plain_environment: None
) -> None:
    result = CommandLine.configured(tmp_path, fake.address, password="").run("queue list")
    assert result.exit_code == 4
    assert "paddleflow login" in result.stderr


@pytest.mark.parametrize("setting", ["[server]\npaddleflow_server_port = x\n", "nonsense"])
def test_a_broken_configuration_is_named(tmp_path: Path, plain_environment: None, setting: str) -> None:
    config = tmp_path / "paddleflow.ini"
    config.write_text(setting)
    result = CommandLine(config).run("queue list")
    assert result.exit_code == 1
    assert "queue list failed with message[" in result.stderr


def test_a_configuration_that_is_not_there_is_named(tmp_path: Path, plain_environment: None) -> None:
    result = CommandLine(tmp_path / "none.ini").run("version")
    assert result.exit_code == 1
    assert f"there is no file {tmp_path}/none.ini" in result.stderr
