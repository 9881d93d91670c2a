"""Programs in other languages, built from nothing but the protos, use an installation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from support import foreign
from support.installation import Installation, installation

# One worker builds and runs them all; a first build takes most of a minute.
pytestmark = [pytest.mark.xdist_group("foreign"), pytest.mark.timeout(300)]


@dataclass(frozen=True, slots=True)
class Language:
    name: str
    build: Callable[[], list[str]]
    flag: str
    """How an option begins."""


LANGUAGES = [Language("go", foreign.build_go, "-"), Language("typescript", foreign.build_typescript, "--")]


@pytest.fixture(scope="module")
def installed() -> Iterator[Installation]:
    with installation() as made:
        yield made


@pytest.fixture(scope="module", params=LANGUAGES, ids=lambda language: language.name)
def command(request: pytest.FixtureRequest, installed: Installation) -> list[str]:
    """The program, told where the installation is and which queue to make."""
    language: Language = request.param
    flags = {"address": installed.address, "queue": f"from-{language.name}"}
    return language.build() + [word for name, value in flags.items() for word in (language.flag + name, value)]


def test_it_logs_in_creates_a_queue_and_watches_it(command: list[str], installed: Installation) -> None:
    queue = command[-1]
    result = foreign.call(command, {"PADDLEFLOW_PASSWORD": installed.root_password})
    assert result.returncode == 0, result.stderr
    steps = {line.pop("step"): line for line in map(json.loads, result.stdout.splitlines())}
    assert list(steps) == ["login", "existing", "created", "refused", "event"]
    assert steps["login"] == {"user": "root", "root": True}
    assert steps["existing"]["resumable"]
    assert "default-queue" in steps["existing"]["queues"]
    assert steps["created"] == {"queue": queue, "cpu": 1500, "state": "QUEUE_STATE_OPEN", "retry_is_equal": True}
    assert refusal(steps["refused"]) == ("ALREADYEXISTS", "QUEUE_EXISTS", "paddleflow.queue")
    assert steps["event"] == {"queue": queue, "kind": "CHANGE_KIND_CREATED"}


def refusal(line: dict[str, Any]) -> tuple[str, str, str]:
    """The languages write the code in their own ways: AlreadyExists, ALREADY_EXISTS."""
    return line["code"].replace("_", "").upper(), line["reason"], line["domain"]


def test_a_wrong_password_is_told(command: list[str]) -> None:
    result = foreign.call(command, {"PADDLEFLOW_PASSWORD": "wrong1"})
    assert (result.returncode, result.stdout) == (1, "")
    assert "The user name or the password is wrong" in result.stderr
