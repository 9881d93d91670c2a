"""What a mount makes of the answers of the program that tells keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pf_backends.s3.settings import Keys
from pf_fuse.renewals import Renewals
from pf_fuse.settings import RenewalSettings

OLD, NEW = Keys("old", "secret-1"), Keys("new", "secret-2")
AGAIN = 60.0


class Teller:
    """A program that tells what stands in a file."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "told"
        self._now = 0.0
        self.renewals = Renewals(RenewalSettings(["cat", str(self._file)], {}), lambda: self._now)

    def tells(self, answer: Mapping[str, Any]) -> None:
        """From now on; the program is asked again."""
        self._file.write_text(json.dumps(answer))
        self._now += AGAIN

    def tells_keys(self, keys: Keys) -> None:
        properties = {"accessKey": keys.access, "secretKey": keys.secret}
        link = {"path": "in", "url": "", "properties": properties}
        self.tells({"answer": {"properties": properties, "links": [link]}})

    def is_away(self) -> None:
        self._file.unlink(missing_ok=True)
        self._now += AGAIN


@pytest.fixture
def teller(tmp_path: Path) -> Teller:
    return Teller(tmp_path)


def test_keys_are_told_of_the_filesystem_and_of_what_is_linked_into_it(teller: Teller) -> None:
    teller.tells_keys(NEW)
    assert [teller.renewals.keys(path, OLD) for path in ("", "in")] == [NEW, NEW]


@pytest.mark.parametrize("problem", ["Unavailable", "TokenExpired", "DeadlineExceeded"])
def test_the_old_keys_stay_while_nobody_answers(teller: Teller, problem: str) -> None:
    teller.is_away()
    assert teller.renewals.keys("", OLD) == OLD
    teller.tells({"problem": problem, "message": "not now"})
    assert teller.renewals.keys("", OLD) == OLD
    teller.tells_keys(NEW)
    assert teller.renewals.keys("", OLD) == NEW
    teller.is_away()
    assert teller.renewals.keys("", OLD) == NEW


def test_there_are_no_keys_any_more_for_who_is_refused_them_for_good(teller: Teller) -> None:
    teller.tells({"problem": "FilesystemNotFound", "message": "gone", "final": True})
    assert teller.renewals.keys("", OLD) is None
    teller.tells_keys(NEW)
    assert teller.renewals.keys("", OLD) == NEW


def test_there_are_no_keys_any_more_of_what_is_linked_no_more(teller: Teller) -> None:
    teller.is_away()
    assert teller.renewals.keys("elsewhere", OLD) == OLD
    teller.tells_keys(NEW)
    assert teller.renewals.keys("elsewhere", OLD) is None
