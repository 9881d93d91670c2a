"""Lines of a mount's log."""

from __future__ import annotations

import logging

from pf_fuse.logs import Lines


def line(**about: object) -> str:
    record = logging.makeLogRecord(
        {"msg": "not uploaded", "levelname": "ERROR", "name": "there", "created": 0.0} | about
    )
    return Lines().format(record)


def test_what_a_line_is_about_stands_behind_it() -> None:
    assert line(path="a file", why="no room").endswith(" ERROR there not uploaded path='a file' why='no room'")


def test_a_line_about_nothing_ends_with_its_words() -> None:
    assert line().endswith(" ERROR there not uploaded")
