"""What object stores say that the ones in other tests do not say."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Callable

import pytest

from pf_backends.entries import Condition, Kind, Part, Upload
from pf_backends.errors import Changed, Unreachable, Unsupported
from pf_backends.port import ANYTHING
from pf_backends.s3.reading import checksum
from support.backend_places import content, listed, names, put_all, read, walked
from support.scripted_store import Asked, Told, error, scripted

ODD = ["a//b", "/lead", "dir/", "dir/in", "a/./b", "a/../b", "..", "nul%00", "both", "both/in"]
ODD += ["sp+ace", "plus%2B", "n%0Al"]
CONTENTS = "".join(
    f"<Contents><Key>{key}</Key><Size>1</Size><ETag>&quot;e&quot;</ETag>"
    "<LastModified>2024-01-02T03:04:05.678Z</LastModified></Contents>"
    for key in ODD
)


def page(inner: str, rest: str = "") -> Told:
    more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{rest}</NextContinuationToken>" if rest else ""
    return Told(body=f"<ListBucketResult><EncodingType>url</EncodingType>{more}{inner}</ListBucketResult>".encode())


def test_keys_that_are_no_paths_are_not_shown() -> None:
    with scripted(lambda asked: page(CONTENTS)) as backend:
        assert names(walked(backend)) == sorted(["both", "both/in", "dir", "dir/in", "n\nl", "plus+", "sp ace"])
    prefixes = ["a/", "/", "both/", "../", "dir//", "./"]
    folders = "".join(f"<CommonPrefixes><Prefix>{prefix}</Prefix></CommonPrefixes>" for prefix in prefixes)
    with scripted(lambda asked: page(f"{CONTENTS}{folders}")) as backend:
        found = {entry.path: entry for entry in listed(backend)}
        assert found["a"].kind is Kind.FOLDER
        assert found["both"].kind is Kind.FILE
        assert found["both"].modified == 1_704_164_645_000_000_000
        assert {".", "..", "", "dir/"}.isdisjoint(found)


def test_pages_are_asked_for_as_the_store_says() -> None:
    def script(asked: Asked) -> Told:
        token = asked.query.get("continuation-token", [""])[0]
        inner = f"<Contents><Key>k{len(token)}</Key><Size>1</Size></Contents>"
        return page(inner, rest={"": "1 &amp;", "1 &": "2"}.get(token, ""))

    with scripted(script) as backend:
        assert names(walked(backend)) == ["k0", "k1", "k3"]


@pytest.mark.parametrize("token", ["", "<NextContinuationToken>same</NextContinuationToken>"])
def test_a_list_that_cannot_be_gone_on_with_is_an_error(token: str) -> None:
    with scripted(lambda asked: page(f"<IsTruncated>true</IsTruncated>{token}{CONTENTS}")) as backend:
        for ask in (listed, walked):
            with pytest.raises(Unreachable, match="the store"):
                ask(backend)


def test_a_store_that_ignores_conditions_is_found_out() -> None:
    kept: dict[str, bytes] = {}

    def script(asked: Asked) -> Told:
        if asked.query.get("list-type"):
            return page("")
        if asked.method == "PUT":
            kept[asked.key] = asked.body
        elif asked.method == "DELETE":
            kept.pop(asked.key, None)
        elif asked.key not in kept:
            return error("NoSuchKey", 404)
        return Told(body=kept.get(asked.key, b""), headers={"etag": f'"{hash(kept.get(asked.key))}"'})

    with scripted(script) as backend:
        first = backend.put("a", b"zero", condition=Condition(absent=True))
        backend.remove("a", condition=Condition(version=first.version))
        backend.check()
        assert not backend.capabilities.conditional
        assert kept == {}
        first = backend.put("a", b"one", condition=Condition(absent=True))
        for condition in (Condition(absent=True), Condition(version="other")):
            with pytest.raises(Changed):
                backend.put("a", b"two", condition=condition)
        backend.put("a", b"two", condition=Condition(version=first.version))
        assert kept == {"a": b"two"}


@pytest.mark.parametrize(
    ("code", "signed"), [("BadDigest", False), ("XAmzContentChecksumMismatch", False), ("InvalidRequest", True)]
)
def test_a_wrong_checksum_is_what_a_store_is_tried_with(code: str, signed: bool) -> None:
    payloads: dict[str, str] = {}

    def script(asked: Asked) -> Told:
        told = asked.headers.get("x-amz-checksum-crc32")
        if asked.method == "PUT" and told not in (None, checksum(asked.body)):
            return error(code, 400)
        if asked.method == "PUT":
            payloads[asked.key] = asked.headers["x-amz-content-sha256"]
        if asked.method == "POST":
            return Told(body=b"<I><UploadId>u</UploadId></I>")
        return page("") if asked.query.get("list-type") else Told(headers={"etag": '"e"'})

    with scripted(script) as backend:
        backend.check()
        backend.put("a", b"abc")
        upload = backend.begin("b")
        backend.send(upload, 1, b"abc")
    digest = hashlib.sha256(b"abc").hexdigest()
    assert [payloads["a"] == digest, payloads["b"] == digest] == [signed, signed]


def test_what_a_store_does_not_check_is_signed() -> None:
    kept: dict[str, str] = {}

    def script(asked: Asked) -> Told:
        if asked.method == "PUT":
            kept[asked.key] = asked.headers["x-amz-content-sha256"]
        return page("") if asked.query.get("list-type") else Told(headers={"etag": '"e"'})

    with scripted(script) as backend:
        backend.put("unknown", b"abc")
        backend.check()
        backend.put("known", b"abc")
        backend.send(Upload("part", "u", 0), 1, b"abc")
    assert {kept[path] for path in ("unknown", "known", "part")} == {hashlib.sha256(b"abc").hexdigest()}


def test_who_may_only_read_finds_nothing_out_and_harms_nothing() -> None:
    def script(asked: Asked) -> Told:
        return page("") if asked.method == "GET" else error("AccessDenied", 403)

    with scripted(script) as backend:
        backend.check()
        assert not backend.capabilities.conditional
        with pytest.raises(PermissionError, match="AccessDenied"):
            backend.put("a", b"")


def test_who_only_reads_writes_nothing_to_find_out() -> None:
    asked: list[str] = []

    def script(request: Asked) -> Told:
        asked.append(request.method)
        return page("")

    with scripted(script, read_only=True) as backend:
        backend.check()
    assert asked == ["GET"]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (error("PermanentRedirect", 301, "elsewhere", "<Region>eu-1</Region>"), "region eu-1"),
        (error("AuthorizationHeaderMalformed", 400, "wrong", "<Region>eu-2</Region>"), "region eu-2"),
        (Told(307, headers={"location": "http://169.254.169.254/"}), "not followed"),
        (error("NoSuchBucket", 404, "The bucket is not there"), "NoSuchBucket: The bucket"),
        (error("InvalidAccessKeyId", 403, "unknown key tester of not-a-real-secret"), "unknown key … of …"),
        (error("X", 403, "line\nbreak"), "X: line break"),
        (Told(418), "answers 418"),
        (Told(200, b"<html>"), "no XML"),
        (Told(200, b'<!DOCTYPE x [<!ENTITY e "e">]><ListBucketResult>&e;</ListBucketResult>'), "plain XML"),
        (Told(200, "<ListBucketResult/>".encode("utf-16")), "plain XML"),
    ],
)
def test_what_a_store_refuses_is_told_in_its_own_words(told: Told, words: str) -> None:
    with scripted(lambda asked: told) as backend:
        with pytest.raises(OSError, match=words.replace(".", r"\.")) as refused:
            backend.check()
        assert refused.value.filename in ("", backend.address)


def test_a_clock_that_is_wrong_is_put_right() -> None:
    times: list[str] = []

    def script(asked: Asked) -> Told:
        times.append(asked.headers["x-amz-date"])
        if asked.headers["x-amz-date"] < "20990101":
            refused = error("RequestTimeTooSkewed", 403)
            return Told(403, refused.body, {"date": "Thu, 01 Jan 2099 00:00:00 GMT"})
        return page("")

    with scripted(script) as backend:
        assert listed(backend) == []
        assert len(times) == 2


@pytest.mark.parametrize(
    "headers",
    [
        {"content-range": "bytes 5-9/100"},
        {"content-range": "bytes 0-8/100"},
        {"content-range": "items 0-9/100"},
        {},
        {"content-range": "bytes 0-9/100", "etag": '"other"'},
    ],
)
def test_bytes_from_elsewhere_are_not_taken(headers: dict[str, str]) -> None:
    told = {"etag": '"e"', **headers}
    with scripted(lambda asked: Told(206, b"0123456789", told)) as backend, pytest.raises((Unreachable, Changed)):
        read(backend, "a", 0, 10, version="e")


def test_a_store_that_reads_whole_files_only_is_found_out() -> None:
    with scripted(lambda asked: Told(200, b"0123456789", {"etag": '"e"'})) as backend:
        assert read(backend, "a", 0, 10) == b"0123456789"
        with pytest.raises(Unsupported):
            read(backend, "a", 3, 2)


def test_short_answers_are_gone_on_with() -> None:
    body = bytes(range(100))

    def script(asked: Asked) -> Told:
        start, end = map(int, asked.headers["range"].removeprefix("bytes=").split("-"))
        end = min(start + 7, end + 1, 100)
        if start >= 100:
            return Told(416)
        return Told(206, body[start:end], {"etag": '"e"', "content-range": f"bytes {start}-{end - 1}/100"})

    with scripted(script) as backend:
        assert read(backend, "a", 10, 50) == body[10:60]
        assert read(backend, "a", 80, 50) == body[80:]


def test_a_checksum_that_does_not_fit_is_an_error() -> None:
    told = Told(body=b"abc", headers={"etag": '"e"', "x-amz-checksum-crc32": "AAAAAA=="})
    with scripted(lambda asked: told) as backend, pytest.raises(Unreachable, match="checksum"):
        content(backend, "a")


def test_an_upload_that_fails_after_success_was_told_is_an_error() -> None:
    def script(asked: Asked) -> Told:
        match asked.method, sorted(asked.query):
            case "POST", ["uploads"]:
                return Told(body=b"<I><UploadId>u</UploadId></I>")
            case "POST", _:
                return error("InternalError", 200, "it broke")
            case "HEAD", _:
                return Told(404)
        return Told(headers={"etag": '"e"'})

    with scripted(script) as backend:
        upload = backend.begin("a")
        part = backend.send(upload, 1, b"abc")
        with pytest.raises(OSError, match="it broke"):
            backend.finish(upload, [part])


@pytest.mark.parametrize(
    ("size", "condition", "failure"),
    [
        (3, ANYTHING, Changed),
        (3, Condition(version=f"{'0' * 32}-1"), FileNotFoundError),
        (4, ANYTHING, FileNotFoundError),
    ],
)
def test_an_upload_whose_end_was_not_heard_may_be_what_is_there(
    size: int, condition: Condition, failure: type[OSError]
) -> None:
    """A store that encrypts: its tags are made of what nobody else knows."""

    def script(asked: Asked) -> Told:
        if "uploadId" in asked.query:
            return error("NoSuchUpload", 404)
        lies = {"etag": f'"{"0" * 32}-1"', "content-length": str(size)}
        return Told(headers=lies if asked.method == "HEAD" else {})

    with scripted(script) as backend, pytest.raises(failure):
        backend.finish(Upload("a", "u", 0), [Part(1, 3, "f" * 32)], condition=condition)


def test_a_store_that_cannot_remove_many_removes_one_by_one() -> None:
    gone: list[str] = []

    def script(asked: Asked) -> Told:
        if asked.method == "POST":
            return error("NotImplemented", 501)
        gone.append(asked.key)
        return error("AccessDenied", 403) if asked.key == "b" else Told(204)

    with scripted(script) as backend:
        first, second, third = backend.remove_many(["a", "b", "c\x01"])
        assert first is third is None
        assert isinstance(second, PermissionError)
        assert sorted(gone) == ["a", "b", "c\x01"]


def test_what_was_not_removed_is_told_by_name() -> None:
    def script(asked: Asked) -> Told:
        assert b"<Key>x&amp;&lt;&#10;</Key>" in asked.body
        return Told(
            body=b"<R><Error><Key>x&amp;&lt;&#10;</Key><Code>AccessDenied</Code><Message>no</Message></Error></R>"
        )

    with scripted(script) as backend:
        (refused, other) = backend.remove_many(["x&<\n", "y"])
        assert isinstance(refused, PermissionError)
        assert other is None


@pytest.mark.parametrize(
    ("told", "failure"),
    [
        (error("InternalError", 200), Unreachable),
        (Told(body=b"<R><Error><Key>other</Key><Code>AccessDenied</Code></Error></R>"), PermissionError),
        (Told(body=b"<R><Error><Code>AccessDenied</Code></Error></R>"), PermissionError),
    ],
)
def test_what_is_not_told_to_be_removed_may_be_there(told: Told, failure: type[OSError]) -> None:
    with scripted(lambda asked: told) as backend:
        assert [type(each) for each in backend.remove_many(["a", "b"])] == [failure, failure]


def test_pieces_of_unknown_length_are_read() -> None:
    chunked = {"transfer-encoding": "chunked", "content-length": ""}
    xml = b"<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>"
    body = b"10\r\n" + xml[:16] + b"\r\n%x;x=y\r\n" % len(xml[16:]) + xml[16:] + b"\r\n0\r\ntrailer: 1\r\n\r\n"
    with scripted(lambda asked: Told(200, body, chunked)) as backend:
        assert names(walked(backend)) == ["a"]
        assert names(walked(backend)) == ["a"]


@pytest.mark.parametrize(
    "headers",
    [{"content-length": "-1"}, {"content-length": "1e9"}, {"x": "y" * 100_000}, {"content-length": "99999999999"}],
)
def test_heads_that_make_no_sense_are_errors(headers: dict[str, str]) -> None:
    with scripted(lambda asked: Told(200, b"", headers), attempts=2, deadline=2.0) as backend:
        with pytest.raises(OSError, match="a"):
            backend.fetch("a", limit=100)
        assert not isinstance(_failure(lambda: backend.list("")), FileNotFoundError)


@pytest.mark.parametrize(("status", "failure"), [(200, Unreachable), (403, PermissionError)])
@pytest.mark.parametrize("encoding", ["x-none", "utf-7", "shift_jis"])
def test_an_answer_in_a_strange_encoding_is_an_error(encoding: str, status: int, failure: type[OSError]) -> None:
    strange = f"<?xml version='1.0' encoding='{encoding}'?><Error><Code>Nonsense</Code></Error>".encode()
    with scripted(lambda asked: Told(status, strange)) as backend, pytest.raises(failure):
        backend.list("")


def test_a_key_that_is_too_long_is_not_asked_for() -> None:
    with scripted(lambda asked: Told(404)) as backend, pytest.raises(OSError, match="x") as refused:
        put_all(backend, ["x" * 1025])
    assert refused.value.errno == errno.ENAMETOOLONG


def test_nobody_in_particular_signs_nothing() -> None:
    seen: list[Asked] = []

    def script(asked: Asked) -> Told:
        seen.append(asked)
        return page("")

    with scripted(script, keys=None) as backend:
        backend.list("")
    assert not {"authorization", "x-amz-date"} & set(seen[0].headers)


def _failure(ask: Callable[[], object]) -> OSError:
    with pytest.raises(OSError, match=r".") as refused:
        ask()
    return refused.value
