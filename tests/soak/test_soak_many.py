"""Very many files, open at once and in one folder."""

from __future__ import annotations

import os
import resource
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

from support.mounts import new_mount
from support.soaking import sized, told

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]
OPEN = sized(10_000)
IN_ONE_FOLDER = sized(1_000_000)
MEMORY = 400 << 20
"""Bytes of the client, whose folder that is: 120 MiB, and what it remembers for as long as the kernel does."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory, where many files are made soon."""
    folder = Path(mkdtemp(dir="/dev/shm"))
    yield folder
    shutil.rmtree(folder)


def test_ten_thousand_files_are_open(folder: Path) -> None:
    for number in range(OPEN):
        (folder / f"{number}").write_text(f"{number}")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with new_mount() as mount:
        mount.begin(f"local://{folder}", {})
        opened = [os.open(mount.place / f"{number}", os.O_RDONLY) for number in range(OPEN)]
        for number, each in enumerate(opened):
            assert os.pread(each, 10, 0) == f"{number}".encode()
        told(f"{OPEN} files open: {mount.stats()['process']['memory'] >> 20} MiB")
        for each in opened:
            os.close(each)


def test_a_million_names_are_listed_within_bounded_memory(folder: Path) -> None:
    for number in range(IN_ONE_FOLDER):
        os.close(os.open(folder / f"{number}", os.O_CREAT | os.O_WRONLY))
    with new_mount() as mount:
        mount.begin(f"local://{folder}", {})
        begun = time.monotonic()
        with os.scandir(mount.place) as names:
            count = sum(1 for _ in names)
        peak = mount.stats()["process"]["memory_peak"]
        told(f"{count} names listed in {time.monotonic() - begun:.0f} s, at most {peak >> 20} MiB")
        assert count == IN_ONE_FOLDER
        assert peak < MEMORY
