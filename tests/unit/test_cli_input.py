"""What people type wrongly, or that is no text: told in a sentence, with the option's name."""

from __future__ import annotations

import subprocess

import pytest
from click.testing import CliRunner

from paddleflow.auth.v1 import auth_pb2
from paddleflow.cli.app import cli
from paddleflow.problems import ClusterNotEmpty
from support.command_line import CommandLine
from support.fake_paddleflow import FakePaddleFlow
from support.fake_services import PASSWORD
from support.repository import BIN

LARGE = "99999999999"


@pytest.mark.parametrize(
    ("command", "status", "why"),
    [
        (f"queue create a n 1 1 --weight {LARGE}", 2, "--weight"),
        (f"queue create a n 1 1 --priority {LARGE}", 2, "--priority"),
        (f"queue update a --max-jobs {LARGE}", 2, "--max-jobs"),
        (f"queue list -m {LARGE}", 2, "--maxsize"),
        ("queue show \udcff", 2, "queuename is not in UTF-8"),
        ("queue watch good \udcff", 2, "names is not in UTF-8"),
        ("user add alice \udcff", 2, "secret is not in UTF-8"),
        ("queue create a n 1 1 --location a=\udcff", 2, "location is not in UTF-8"),
        ("token create t --lifetime 999999999w", 1, "longer than can be counted"),
        ("token create t --lifetime 99999999w", 1, "10000 years"),
        ("audit list --since 99999999w", 1, "is neither a moment"),
        ("job list -t yesterday", 1, "timestamp: 'yesterday' is neither a moment"),
        ("job list -st soon", 1, "starttime: 'soon' is neither a moment"),
        ("job wait job-1 --timeout 10", 1, "timeout: '10' is not a duration such as 90s"),
        ("audit list --since 2030-13-01", 1, "'2030-13-01' is neither a moment"),
        ("audit list --since 0001-01-01T00:00:00+14:00", 1, "since: lies before the year 1"),
        ("queue create a n 1 1 --maxscalar gpu", 1, "max.scalar: 'gpu' is not of the form"),
        ("queue list -l zone", 1, "labels: 'zone' is not of the form"),
        ("queue create a n 1 1 --location zone", 1, "location: 'zone' is not of the form"),
        ("cluster update c", 2, "Nothing to change is given"),
        ("flavour update f", 2, "Nothing to change is given"),
        ("""cluster update c --setting '{"a": NaN}'""", 1, "setting: is not JSON: NaN"),
        ("cluster update c --setting '[]'", 1, "setting: is not a JSON object"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(command_line: CommandLine, command: str, status: int, why: str) -> None:
    result = command_line.run(command)
    assert isinstance(result.exception, SystemExit), result.exception
    assert (result.exit_code, why in result.stderr) == (status, True), result.stderr


def test_lists_of_commands_say_whole_sentences() -> None:
    for noun in ([], ["job"], ["queue"], ["statistics"]):
        told = CliRunner().invoke(cli, [*noun, "--help"]).output
        assert "Commands:" in told
        assert "..." not in told.partition("Commands:")[2]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x80cluster", b"2030-13-01", b"{nodes: " + b"[" * 5000])
def test_a_report_that_is_none_is_told(command_line: CommandLine, content: bytes) -> None:
    environ = {"PADDLEFLOW_CONFIG": str(command_line.config)}
    result = CliRunner(env=environ).invoke(cli, ["cluster", "report", "-"], input=content)
    assert (result.exit_code, "file: is neither YAML nor JSON" in result.stderr) == (1, True), result.stderr


@pytest.mark.parametrize("command", ["queue -o json list", "-o json queue list", "queue -o text list -o json"])
def test_output_may_stand_at_any_place(command_line: CommandLine, command: str) -> None:
    assert command_line.output(command) == "[]\n"


def test_without_a_terminal_no_password_is_asked_for(command_line: CommandLine) -> None:
    command = [str(BIN / "paddleflow"), "--pf_config", str(command_line.config), "user", "add", "alice"]
    asked = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, start_new_session=True
    )
    assert (asked.returncode, "there is no terminal to ask on" in asked.stderr) == (2, True), asked.stderr
    assert "Warning" not in asked.stderr


def test_a_cluster_that_is_not_empty_leads_to_cascade(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    fake.world.failures = [ClusterNotEmpty()]
    assert "`--cascade`" in command_line.run("cluster delete c").stderr


def test_the_clients_version_is_told_though_no_server_answers(fake: FakePaddleFlow, command_line: CommandLine) -> None:
    fake.stop()
    result = command_line.run("-o json version")
    assert (result.exit_code, '"client": "' in result.stdout) == (3, True)


def test_whose_password_is_ones_own_the_server_says(
    fake: FakePaddleFlow, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.world.good_tokens.add("alices")
    fake.world.caller = "alice"
    monkeypatch.setenv("PADDLEFLOW_TOKEN", "alices")
    result = command_line.run("user set alice secret2 --old-password old1")
    assert "log in again" in result.stderr
    command_line.output("user set root secret2")
    olds = [request.old_password for request in fake.world.asked(auth_pb2.SetPasswordRequest)]
    assert olds == ["old1", ""]
    assert PASSWORD not in olds
