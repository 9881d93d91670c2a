"""A log of rounds on a disk of its own that fills up."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pf_queue.admission.journal.replay import Ended, Replayed, replay
from pf_queue.admission.journal.segments import Keeping, segments
from pf_queue.admission.journal.writer import End, Writer
from support.rounds import Life
from support.waiting import until


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def whys(folder: Path) -> Sequence[str]:
    return [step.why for path in segments(folder) for step in replay(path) if isinstance(step, Ended)]


async def test_a_full_disk_ends_the_log_with_whole_members_and_nothing_else(small_disk: Path) -> None:
    lost: list[None] = []
    made = Writer(Keeping(small_disk, 2**20, 4), lambda: lost.append(None))
    life = Life(random.Random(1), made)
    life.live(50)
    await until(lambda: any(isinstance(step, Replayed) for path in segments(small_disk) for step in replay(path)))
    filler = small_disk / "filler"
    filler.write_bytes(bytes(os.statvfs(small_disk).f_bavail * 4096))

    def goes_on() -> bool:
        life.live(20)
        return not lost

    await until(lambda: not goes_on(), patience=20.0)
    assert whys(small_disk) == [""]
    filler.unlink()
    assert await life.engine.renew(life.now)
    await until(lambda: not made.silent)
    life.live(20)
    made.close()
    assert whys(small_disk) == ["", End.STOPPED]
