"""What tests of the client and of the command line run against."""

from __future__ import annotations

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
def command_line(fake: FakePaddleFlow, tmp_path: Path) -> CommandLine:
    """`paddleflow`, configured for the small server as root."""
    return CommandLine.configured(tmp_path, fake.address)
