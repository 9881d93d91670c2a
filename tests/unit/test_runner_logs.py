"""Logs of replicas, read where they lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pf_job.runtimes.local import layout, logs, records
from pf_job.runtimes.local.keeper import BLOCK
from pf_job.runtimes.local.records import Ending, Record

LIMIT = 4 * BLOCK


@pytest.fixture(params=[True, False], ids=["over", "running"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Of a replica whose log is limited."""
    book = records.write(Record(boot="b", log=LIMIT)) + (records.write(Ending(ended=1)) if request.param else b"")
    (tmp_path / layout.RECORD).write_bytes(book)
    return tmp_path


def test_no_more_is_read_than_is_kept_however_large_the_replica_makes_its_log(folder: Path) -> None:
    log = folder / layout.LOG
    log.write_bytes(b"first")
    os.truncate(log, 2**40)
    with log.open("ab") as file:
        file.write(b"last")
    size = 2**40 + len("last")
    for offset in (0, 2**39):
        found = logs.read(folder, offset, BLOCK)
        assert found.offset == found.kept_from == (size - LIMIT) // BLOCK * BLOCK
    assert logs.read(folder, -4, BLOCK).data == b"last"


def test_a_log_within_its_limit_is_read_from_its_beginning(folder: Path) -> None:
    (folder / layout.LOG).write_bytes(b"x" * LIMIT)
    found = logs.read(folder, 0, 2 * LIMIT)
    assert (found.offset, len(found.data), found.end) == (0, LIMIT, logs.is_over(folder))
