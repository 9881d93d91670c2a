"""What object stores say of copies that the ones in other tests do not say."""

from __future__ import annotations

import pytest

from pf_backends.entries import Condition, Facts
from pf_backends.errors import Changed
from support.scripted_store import Asked, Told, scripted


def test_facts_of_a_file_that_a_store_does_not_copy_at_once_are_set_in_parts() -> None:
    ranges: list[str] = []

    def script(asked: Asked) -> Told:
        if asked.method == "HEAD":
            return Told(headers={"content-length": str(5 << 30 | 1), "etag": '"e"'})
        if asked.method == "PUT" and asked.key == "f":
            ranges.append(asked.headers["x-amz-copy-source-range"])
        return Told(body=b"<R><UploadId>u</UploadId><ETag>e</ETag></R>")

    with scripted(script) as backend:
        backend.set_facts("f", Facts(attributes={"user.a": b"1"}))
    assert ranges == [f"bytes={start << 30}-{((start + 1) << 30) - 1}" for start in range(5)] + [
        f"bytes={5 << 30}-{5 << 30}"
    ]


def test_a_copy_is_told_of_though_another_writer_comes_after_it() -> None:
    def script(asked: Asked) -> Told:
        if asked.method == "PUT":
            return Told(body=b"<CopyObjectResult><ETag>&quot;made&quot;</ETag></CopyObjectResult>")
        if asked.key == "a":
            return Told(body=b"abc", headers={"etag": '"ours"'})
        return Told(body=b"of another", headers={"etag": '"theirs"'})

    with scripted(script) as backend:
        copied = backend.copy("a", "b")
        assert (copied.path, copied.version, copied.size) == ("b", "made", 3)


def test_of_a_store_that_does_not_tell_what_a_copy_is_it_is_asked_what_lies_there() -> None:
    with scripted(lambda asked: Told(headers={"etag": f'"{asked.key}"'})) as backend:
        assert backend.copy("a", "b").version == "b"


def test_what_is_set_is_told_of_though_another_writer_comes_after_it() -> None:
    """The object is copied onto itself for that."""
    set_before: list[Asked] = []

    def script(asked: Asked) -> Told:
        if asked.method == "PUT":
            set_before.append(asked)
            return Told(body=b"<CopyObjectResult><ETag>&quot;made&quot;</ETag></CopyObjectResult>")
        return Told(body=b"abc", headers={"etag": '"theirs"' if set_before else '"ours"'})

    with scripted(script) as backend:
        told = backend.set_facts("a", Facts(mode=0o600), condition=Condition(version="ours"))
        assert (told.version, told.size) == ("made", 3)
        with pytest.raises(Changed):
            backend.set_facts("a", Facts(mode=0o600), condition=Condition(version="made"))
        assert len(set_before) == 1
