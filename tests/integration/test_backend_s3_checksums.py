"""What is written to an object store is compared with its checksum there."""

from __future__ import annotations

import errno
from collections.abc import Iterator

import pytest

from pf_backends.entries import Part
from pf_backends.port import NO_FACTS
from pf_backends.s3 import uploads
from pf_backends.s3.backend import S3Backend
from pf_backends.s3.calls import Ask
from pf_backends.s3.keys import Keys
from pf_backends.s3.reading import CHECKED, CHECKSUM, checksum
from support.backend_places import content
from support.s3_servers import S3Server, caller_of

PART = b"p" * (5 << 20)


@pytest.fixture
def checked(s3_server: S3Server) -> Iterator[S3Backend]:
    """A backend that has found out what its store does."""
    backend = S3Backend(s3_server.settings)
    backend.check()
    yield backend
    backend.close()


def told(server: S3Server, key: str) -> str:
    """The checksum that the store keeps of an object."""
    caller = caller_of(server.settings)
    answer = caller.call(Ask("HEAD", key, key, headers=CHECKED))
    caller.close()
    return answer.headers.get(CHECKSUM, "")


def test_parts_are_checked_one_by_one_and_kept_with_that_of_the_whole(checked: S3Backend, s3_server: S3Server) -> None:
    upload = checked.begin("checked/parts")
    parts = [checked.send(upload, number, body) for number, body in ((1, PART), (2, b"tail"))]
    first = checked.finish(upload, parts)
    assert told(s3_server, "checked/parts") == checksum(PART + b"tail")
    assert checked.finish(upload, parts) == first
    assert content(checked, "checked/parts") == PART + b"tail"


def test_a_part_that_is_not_what_its_checksum_says_is_refused(
    checked: S3Backend, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = checked.begin("checked/wrong")
    with monkeypatch.context() as wrong:
        wrong.setattr(uploads, "checksum", lambda _: checksum(b"another"))
        with pytest.raises(OSError, match="BadDigest") as refused:
            checked.send(upload, 1, b"abc")
        assert refused.value.errno == errno.EINVAL
    checked.drop(upload)


def test_another_client_goes_on_with_an_upload(checked: S3Backend, s3_server: S3Server) -> None:
    upload = checked.begin("checked/other")
    first = checked.send(upload, 1, PART)
    other = S3Backend(s3_server.settings)
    try:
        second = other.send(upload, 2, b"tail")
        other.finish(upload, [Part(part.number, part.size, part.tag) for part in (first, second)])
    finally:
        other.close()
    assert content(checked, "checked/other") == PART + b"tail"


def test_an_upload_that_was_begun_without_checksums_needs_none(checked: S3Backend, s3_server: S3Server) -> None:
    caller, keys = caller_of(s3_server.settings), Keys("")
    upload = uploads.begin(caller, keys, "checked/old", NO_FACTS, {}, checked=False)
    caller.close()
    checked.finish(upload, [checked.send(upload, 1, b"abc")])
    assert content(checked, "checked/old") == b"abc"
