"""Every command as it looks: transcripts against the small server, one for each noun.

A transcript holds commands after ``$``, what is typed after ``<``, and what follows: the output, lines of the error
output after ``!``, and the exit status after ``?`` if it is not 0. To write down a change of the output, run with
WRITE_TRANSCRIPTS=1 and read the difference.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from paddleflow.common.v1.info_pb2 import AuditRecord
from support.command_line import CommandLine
from support.fake_admission import occupy
from support.fake_artifacts import remember
from support.fake_jobs import employ
from support.fake_paddleflow import FakePaddleFlow
from support.fake_pipeline_runs import train
from support.fake_services import BEGAN
from support.fake_shards import share_out
from support.fake_statistics import measure

FOLDER = Path(__file__).with_name("transcripts")


def commands(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a transcript, with what is typed to each."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if line.startswith("$ "):
            typed = lines[at + 1] if at + 1 < len(lines) and lines[at + 1].startswith("< ") else ""
            yield line.removeprefix("$ "), typed.removeprefix("< ")


def replay(command_line: CommandLine, text: str) -> str:
    """The transcript as it goes now."""
    replayed: list[str] = []
    for command, typed in commands(text):
        result = command_line.run(command.removeprefix("paddleflow "), typed=f"{typed}\n")
        assert result.exception is None or isinstance(result.exception, SystemExit), (command, result.exception)
        replayed += [f"$ {command}", *([f"< {typed}"] if typed else []), *result.stdout.splitlines()]
        replayed += [f"! {line}".rstrip() for line in result.stderr.splitlines()]
        replayed += [f"? {result.exit_code}"] if result.exit_code else []
        replayed += [""]
    return "\n".join(replayed)


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.txt")))
def test_commands_look_as_written_down(fake: FakePaddleFlow, command_line: CommandLine, name: str) -> None:
    fake.world.audit = [
        AuditRecord(
            id=1, create_time=BEGAN, actor="user/root", method="/s/CreateQueue", subject="queue/a", peer="unix:"
        ),
        AuditRecord(id=2, create_time=BEGAN, actor="service/job", on_behalf_of="user/alice", method="/s/DeleteQueue"),
    ]
    occupy(fake.world)
    employ(fake.world)
    measure(fake.world)
    share_out(fake.world)
    train(fake.world)
    remember(fake.world)
    path = FOLDER / f"{name}.txt"
    written = path.read_text()
    replayed = replay(command_line, written).replace(version("paddleflow"), "2.0.0.dev0")
    replayed = replayed.replace(str(command_line.config.parent), "FOLDER")
    if os.environ.get("WRITE_TRANSCRIPTS"):
        path.write_text(replayed)
    assert replayed == path.read_text()
