"""What tests of the client and of the command line run against."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.fake_paddleflow import FakePaddleFlow


@pytest.fixture
def fake() -> Iterator[FakePaddleFlow]:
    """A small server with nothing in it."""
    server = FakePaddleFlow()
    server.start()
    yield server
    server.remove()


@pytest.fixture
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of the developer's: no configuration, no colours, the time of Greenwich."""
    for name in [name for name in os.environ if name.startswith("PADDLEFLOW_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def command_line(fake: FakePaddleFlow, tmp_path: Path, plain_environment: None) -> CommandLine:
    """`paddleflow`, configured for the small server as root."""
    return CommandLine.configured(tmp_path, fake.address)
