"""Many names of one folder, asked for one by one: the backend is asked for the folder then, not for each of them."""

from __future__ import annotations

import errno
from collections import Counter
from pathlib import Path

import pytest

from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_fuse.vfs.freshness import Freshness
from support.vfs_site import Site, fails

LASTS = 5.0
CROWD = 3


class Asked:
    """A mount that tells what its backend was asked for, whose clock is set by hand."""

    def __init__(self, folder: Path, files: int) -> None:
        self.operations = Counter[str]()
        self.fails = False
        self._now = 0.0
        backend = MemoryBackend(capabilities=LIKE_OBJECTS)
        for number in range(files):
            backend.put(f"d/{number}", b"1")
        backend.before = self._before
        freshness = Freshness(seconds=LASTS, crowd=CROWD)
        self._site = Site(backend, folder, freshness=freshness, clock=lambda: self._now, read_only=True)

    def look_up(self, *numbers: int) -> Counter[str]:
        """What the backend is asked when these are looked up, later than what is known is good."""
        self._now += LASTS + 1
        self._site.known("d")
        self.operations.clear()
        for number in numbers:
            self._site.known(f"d/{number}")
        return self.operations

    def look_for(self, name: str) -> None:
        with fails(errno.ENOENT):
            self._site.known(f"d/{name}")

    def _before(self, operation: str, _: str) -> None:
        self.operations.update([operation])
        if self.fails and operation == "list":
            raise PermissionError(errno.EACCES, "nobody may list here")


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    return Asked(tmp_path, files=100)


def test_a_few_names_are_asked_for_alone(asked: Asked) -> None:
    assert asked.look_up(1, 2) == {"stat": 2}


def test_of_many_the_folder_is_listed(asked: Asked) -> None:
    assert asked.look_up(*range(50)) == {"stat": CROWD, "list": 1}


def test_it_is_listed_at_once_as_long_as_many_are_asked_for(asked: Asked) -> None:
    asked.look_up(*range(50))
    assert asked.look_up(*range(50)) == {"list": 1}
    assert asked.look_up(*range(CROWD)) == {"list": 1}


def test_when_there_are_few_again_they_are_asked_for_alone(asked: Asked) -> None:
    asked.look_up(*range(50))
    assert asked.look_up(1) == {"list": 1}
    assert asked.look_up(1) == {"stat": 1}


def test_one_name_that_is_asked_for_again_and_again_is_one(asked: Asked) -> None:
    asked.look_up(*range(50))
    assert asked.look_up(1) == {"list": 1}
    for _ in range(9):
        asked.look_for("absent")
    assert asked.look_up(1) == {"stat": 1}


def test_where_it_cannot_be_listed_any_more_names_are_asked_for_alone(asked: Asked) -> None:
    asked.look_up(*range(50))
    asked.fails = True
    with fails(errno.EACCES):
        asked.look_up(1)
    assert asked.look_up(1, 2) == {"stat": 2}


def test_a_large_folder_is_not_listed_for_one_name(tmp_path: Path) -> None:
    asked = Asked(tmp_path, files=1001)
    asked.look_up(*range(50))
    assert asked.look_up(1) == {"stat": 1}
