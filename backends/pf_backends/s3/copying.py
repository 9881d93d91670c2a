"""Copies objects inside of a store."""

from __future__ import annotations

from collections.abc import Mapping

from pf_backends.entries import Condition, Facts, Part
from pf_backends.s3 import uploads
from pf_backends.s3.calls import Ask, Caller
from pf_backends.s3.documents import detail, document, error_words
from pf_backends.s3.keys import Keys, etag_of, version_of
from pf_backends.s3.reading import entry_of
from pf_backends.s3.refusals import refusal
from pf_backends.wire.messages import Answer

_MOST_AT_ONCE = 5 << 30
"""Bytes that stores copy with one call."""
_PART = 1 << 30


def copy_whole(caller: Caller, keys: Keys, source: Answer, paths: tuple[str, str], headers: Mapping[str, str]) -> str:
    """Copies the version of a source that was looked at; `headers` say what becomes of what is kept with it.

    The version of the copy is told; empty if the store does not say.
    """
    old, new = paths
    named = {"x-amz-copy-source": caller.source(keys.of(old)), **_pinned(source), **headers}
    answer = _require_copied(new, caller.call(Ask("PUT", new, keys.of(new), headers=named)))
    return version_of(detail(answer.body, "ETag"))


def is_large(source: Answer) -> bool:
    """True if it is too large for one call."""
    return entry_of("", source.headers).size > _MOST_AT_ONCE


def copy_parts(
    caller: Caller,
    keys: Keys,
    source: Answer,
    paths: tuple[str, str],
    facts: Facts,
    extra: Mapping[str, str],
    condition: Condition,
) -> str:
    """Copies what is large, with other facts; `extra` says what else is kept with it. The version made is told."""
    old, new = paths
    size = entry_of(old, source.headers).size
    upload = uploads.begin(caller, keys, new, facts, extra, checked=False)
    named = {"x-amz-copy-source": caller.source(keys.of(old)), **_pinned(source)}
    parts = []
    try:
        for number, start in enumerate(range(0, size, _PART), 1):
            end = min(start + _PART, size)
            ranged = {**named, "x-amz-copy-source-range": f"bytes={start}-{end - 1}"}
            query = [("partNumber", str(number)), ("uploadId", upload.id)]
            answer = _require_copied(new, caller.call(Ask("PUT", new, keys.of(new), query, ranged)))
            parts.append(Part(number, end - start, document(answer.body).findtext("ETag") or ""))
        return uploads.finish(caller, keys, upload, parts, condition).version
    except BaseException:
        uploads.drop(caller, keys, upload)
        raise


def _pinned(source: Answer) -> Mapping[str, str]:
    return {"x-amz-copy-source-if-match": etag_of(source.headers.get("etag", "").strip('"'))}


def _require_copied(path: str, answer: Answer) -> Answer:
    # Stores begin their answer before they know how it ends.
    if error_words(answer.body)[0]:
        raise refusal(path, answer, None)
    return answer
