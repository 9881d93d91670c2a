"""Large objects, which arrive in parts."""

from __future__ import annotations

import errno
import hashlib
import time
from collections.abc import Mapping, Sequence

from pf_backends.entries import Condition, Entry, Facts, Part, Parts, Upload
from pf_backends.errors import Changed, changed, failure
from pf_backends.s3.calls import Ask, Caller
from pf_backends.s3.conditions import TO_BE_CHECKED
from pf_backends.s3.conditions import headers_of as condition_headers
from pf_backends.s3.documents import document, error_words, to_complete
from pf_backends.s3.keys import Keys, headers_of, version_of
from pf_backends.s3.reading import CHECKSUM, checksum, entry_of, look
from pf_backends.s3.refusals import refusal
from pf_backends.wire.messages import Answer

PARTS = Parts(least=5 << 20, most=5 << 30, count=10_000)
_NO_UPLOAD = 404
_CHECKED = ":crc32"
"""How the ids of uploads end whose parts are to have checksums; the store's own id is what is before."""


def begin(caller: Caller, keys: Keys, path: str, facts: Facts, extra: Mapping[str, str], *, checked: bool) -> Upload:
    """`checked`: the store compares each part with its checksum, and keeps that of the whole."""
    headers = {**headers_of(path, facts), **extra, **(TO_BE_CHECKED if checked else {})}
    answer = caller.call(Ask("POST", path, keys.of(path), [("uploads", "")], headers))
    id_ = document(answer.body).findtext("UploadId") or ""
    return Upload(path, f"{id_}{_CHECKED if checked else ''}", time.time_ns())


def send(caller: Caller, keys: Keys, upload: Upload, number: int, body: memoryview | bytes) -> Part:
    size = memoryview(body).nbytes
    if not 1 <= number <= PARTS.count or size > PARTS.most:
        raise failure(errno.EINVAL, upload.path, f"part {number} of {size} bytes is none of an upload")
    query = [("partNumber", str(number)), ("uploadId", _id_of(upload))]
    checked = upload.id.endswith(_CHECKED)
    headers = {CHECKSUM: checksum(body)} if checked else {}
    ask = Ask("PUT", upload.path, keys.of(upload.path), query, headers, body, checked=checked)
    told = caller.call(ask).headers
    # One that was begun elsewhere may have checksums, too, which the store works out by itself.
    return Part(number, size, f"{told.get('etag', '')} {headers.get(CHECKSUM) or told.get(CHECKSUM, '')}".rstrip())


def finish(caller: Caller, keys: Keys, upload: Upload, parts: Sequence[Part], condition: Condition) -> Entry:
    """The object is there, also if it was before and the answer got lost."""
    ordered = sorted(parts, key=lambda part: part.number)
    body = to_complete((part.number, *_told_of(part)) for part in ordered)
    key, query = keys.of(upload.path), [("uploadId", _id_of(upload))]
    ask = Ask("POST", upload.path, key, query, condition_headers(condition), body, allowed=(_NO_UPLOAD,))
    try:
        answer = caller.call(ask)
    except Changed:
        entry = _finished_before(caller, keys, upload, ordered)
        if entry is None:
            raise
        return entry
    # Stores begin their answer before they know how it ends.
    if answer.status == _NO_UPLOAD or error_words(answer.body)[0]:
        return _finished_unheard(caller, keys, upload, ordered, condition, answer)
    found = look(caller, keys, upload.path)
    # Some stores say so of each upload that was finished, whatever lies there by now.
    if found is None or version_of(found.headers.get("etag", "")) != _finished_version(answer):
        raise changed(upload.path, "another writer came after the upload")
    return entry_of(upload.path, found.headers)


def drop(caller: Caller, keys: Keys, upload: Upload) -> None:
    query = [("uploadId", _id_of(upload))]
    caller.call(Ask("DELETE", upload.path, keys.of(upload.path), query, allowed=(_NO_UPLOAD,)))


def _id_of(upload: Upload) -> str:
    """What the store calls it."""
    return upload.id.removesuffix(_CHECKED)


def _told_of(part: Part) -> tuple[str, str]:
    """The tag that the store gave to a part, and its checksum; the latter may be empty."""
    tag, _, sum_ = part.tag.partition(" ")
    return tag, sum_


def _finished_before(caller: Caller, keys: Keys, upload: Upload, parts: Sequence[Part]) -> Entry | None:
    """The object, if it is the one of these parts."""
    entry = _entry(caller, keys, upload.path)
    return entry if entry and _is_of(entry, parts) else None


def _finished_unheard(
    caller: Caller, keys: Keys, upload: Upload, parts: Sequence[Part], condition: Condition, answer: Answer
) -> Entry:
    """The object, if it is the one of these parts; Changed if only its bytes can tell that."""
    entry = _entry(caller, keys, upload.path)
    if entry and _is_of(entry, parts):
        return entry
    if answer.status == _NO_UPLOAD and entry and _may_be_of(entry, parts, condition):
        raise changed(upload.path, "the upload is there no more, and what there is may be what came of it")
    raise refusal(upload.path, answer, None)


def _entry(caller: Caller, keys: Keys, path: str) -> Entry | None:
    found = look(caller, keys, path)
    return entry_of(path, found.headers) if found else None


def _is_of(entry: Entry, parts: Sequence[Part]) -> bool:
    """True if an object is of these parts: the usual version of such an object is made of those of its parts."""
    digest, dash, _ = entry.version.partition("-")
    if dash and len(digest) == 32:
        return entry.version == _usual_version(parts)
    return entry.size == _size(parts)


def _may_be_of(entry: Entry, parts: Sequence[Part], condition: Condition) -> bool:
    """True if an object is not the one from before: a store that encrypts makes versions of what nobody else knows."""
    return entry.size == _size(parts) and entry.version != condition.version


def _size(parts: Sequence[Part]) -> int:
    return sum(part.size for part in parts)


def _usual_version(parts: Sequence[Part]) -> str:
    try:
        digests = b"".join(bytes.fromhex(version_of(_told_of(part)[0])) for part in parts)
    except ValueError:
        return ""
    return f"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(parts)}"


def _finished_version(answer: Answer) -> str:
    return version_of(document(answer.body).findtext("ETag") or "")
