"""Folders for temporary files, and what is left in them."""

from __future__ import annotations

import os
import select
import stat
from pathlib import Path

from pf_job.runtimes.local.slots import Slots

MANY = 1_000


def test_nobody_waits_for_what_removes_leftovers(tmp_path: Path) -> None:
    """It is a fork of the runner: with its open files, clients would not see that the runner is gone."""
    for number in range(MANY):
        (tmp_path / "0" / str(number)).mkdir(parents=True)
    hearing, telling = os.pipe()
    Slots(str(tmp_path)).clean()
    os.close(telling)
    assert select.select([hearing], [], [], 20)[0]
    os.close(hearing)
    assert os.waitpid(-1, os.WNOHANG) == (0, 0)
    os.wait()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_used_again_by_whom_it_belongs_to(tmp_path: Path) -> None:
    slots = Slots(str(tmp_path))
    for _ in range(3):
        slot = slots.take(None)
        found = Path(slot.path).stat()
        assert (slot.number, stat.S_IMODE(found.st_mode), found.st_uid) == (0, 0o700, os.geteuid())
        slots.give_back(slot.number)
    assert [path.name for path in tmp_path.iterdir()] == ["0"]


def test_nothing_is_left_of_folders_that_go_from_one_to_another(tmp_path: Path) -> None:
    if os.geteuid():
        return
    slots = Slots(str(tmp_path))
    for uid in (1_750_000_000, 1_750_000_001) * 5:
        slot = slots.take(uid)
        assert Path(slot.path).stat().st_uid == uid
        slots.give_back(slot.number)
    assert [path.name for path in tmp_path.iterdir()] == ["0"]
