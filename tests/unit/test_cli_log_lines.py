"""Lines of logs, put together from chunks as they come."""

from __future__ import annotations

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.cli.log_lines import lines, print_bytes, print_lines, print_objects
from paddleflow.models.job_specs import Role
from paddleflow.models.logs import LogChunk, LogReplica

FIRST, SECOND = LogReplica(1, Role.WORKER, 0), LogReplica(1, Role.WORKER, 1)
DATA = st.lists(st.sampled_from([b"\n", b"a", b"\r\n", b"\xff"]), max_size=20).map(b"".join)


@given(logs=st.tuples(DATA, DATA), cuts=st.lists(st.tuples(st.integers(0, 1), st.integers(1, 5))))
def test_lines_are_whole_however_they_are_cut(logs: tuple[bytes, bytes], cuts: list[tuple[int, int]]) -> None:
    left = list(logs)
    chunks = []
    for which, size in cuts:
        chunks.append(LogChunk((FIRST, SECOND)[which], 0, left[which][:size]))
        left[which] = left[which][size:]
    chunks += [LogChunk(replica, 0, rest, end=True) for replica, rest in zip((FIRST, SECOND), left, strict=True)]
    found = list(lines(chunks))
    for replica, log in zip((FIRST, SECOND), logs, strict=True):
        mine = [line for each, line in found if each == replica]
        assert b"".join(mine) == log
        assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in mine[:-1])


def test_what_is_printed_is_what_was_written() -> None:
    chunks = [LogChunk(FIRST, 0, b"a\r\n\xff"), LogChunk(FIRST, 4, b"\0", end=True)]
    plain, told, objects = BytesIO(), BytesIO(), BytesIO()
    print_bytes(chunks, plain)
    print_lines(chunks, told)
    print_objects(chunks, objects)
    assert plain.getvalue() == b"a\r\n\xff\0"
    assert told.getvalue() == b"worker/0: a\r\nworker/0: \xff\0\n"
    begin = b'{"attempt": 1, "role": "worker", "index": 0, "restart": 0, "line": '
    assert objects.getvalue() == begin + b'"a\\r"}\n' + begin + '"�\\u0000"}\n'.encode()


def test_what_is_not_kept_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    print_bytes([LogChunk(FIRST, 7, b"a", lost=7)], BytesIO())
    assert capsys.readouterr().err == "7 bytes that worker/0 has written are not kept any more\n"
