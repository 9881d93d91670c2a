"""Whether an object store refuses a write whose condition does not hold, or whose checksum is wrong.

Some say nothing and write.
"""

from __future__ import annotations

import errno
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from pf_backends.entries import Condition
from pf_backends.errors import Unreachable
from pf_backends.s3.calls import Ask, Caller
from pf_backends.s3.documents import document, to_complete
from pf_backends.s3.keys import PROBE, Keys, etag_of
from pf_backends.s3.reading import CHECKSUM, checksum
from pf_backends.s3.refusals import code_of
from pf_backends.s3.signing import Query

TO_BE_CHECKED = {"x-amz-checksum-algorithm": "CRC32", "x-amz-checksum-type": "FULL_OBJECT"}
"""Of an upload whose parts have checksums."""
_REFUSED = (404, 409, 412)
"""A store that looks for the version of something that is not there may say that."""
_WRONG = ("BadDigest", "XAmzContentChecksumMismatch")
"""What stores say when a checksum is another one."""
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.ENOTSUP)


@dataclass(frozen=True, slots=True)
class Honoured:
    """What a store was seen to refuse."""

    puts: bool = False
    uploads: bool = False
    """Also for files that arrive in parts."""
    checksums: bool = False
    """A body that is not what its checksum says."""


def headers_of(condition: Condition) -> Mapping[str, str]:
    if condition.absent:
        return {"if-none-match": "*"}
    return {"if-match": etag_of(condition.version)} if condition.version else {}


def probed(caller: Caller, keys: Keys) -> Honoured:
    """Tries it on an object of its own, which it removes. Nothing is honoured for who may not write."""
    path = f"{PROBE}{secrets.token_hex(8)}"
    try:
        return _Probe(caller, path, keys.of(path)).tried()
    except OSError as error:
        if error.errno in _NOT_ALLOWED:
            return Honoured()
        raise


class _Probe:
    def __init__(self, caller: Caller, path: str, key: str) -> None:
        self._caller = caller
        self._path = path
        self._key = key

    def tried(self) -> Honoured:
        # Where the first two are honoured, nothing is written by them.
        checksums = self._checks()
        if not self._refuses("PUT", {"if-match": '"0"'}):
            self._remove()
            return Honoured(checksums=checksums)
        self._caller.call(Ask("PUT", self._path, self._key))
        try:
            puts = self._refuses("PUT", {"if-none-match": "*"})
            return Honoured(puts, puts and self._uploads_too(), checksums)
        finally:
            self._remove()

    def _checks(self) -> bool:
        """True if a wrong checksum is why the store refuses a body without a digest, and a part too."""
        try:
            return self._checks_body(()) and self._checks_parts()
        except Unreachable:
            raise
        except OSError:
            return False

    def _checks_parts(self) -> bool:
        begun = self._caller.call(Ask("POST", self._path, self._key, [("uploads", "")], TO_BE_CHECKED))
        upload = document(begun.body).findtext("UploadId") or ""
        try:
            return self._checks_body([("partNumber", "1"), ("uploadId", upload)])
        finally:
            with suppress(OSError):
                query = [("uploadId", upload)]
                self._caller.call(Ask("DELETE", self._path, self._key, query=query, allowed=(404,)))

    def _checks_body(self, query: Query) -> bool:
        headers = {CHECKSUM: checksum(b"another")}
        ask = Ask("PUT", self._path, self._key, query, headers, b"probe", allowed=(400, 403), checked=True)
        return code_of(self._caller.call(ask)) in _WRONG

    def _uploads_too(self) -> bool:
        begun = self._caller.call(Ask("POST", self._path, self._key, query=[("uploads", "")]))
        upload = document(begun.body).findtext("UploadId") or ""
        query = [("uploadId", upload)]
        try:
            numbered = [("partNumber", "1"), *query]
            sent = self._caller.call(Ask("PUT", self._path, self._key, query=numbered, body=b"probe"))
            body = to_complete([(1, sent.headers.get("etag", ""), "")])
            return self._refuses("POST", {"if-none-match": "*"}, body, query)
        finally:
            with suppress(OSError):
                self._caller.call(Ask("DELETE", self._path, self._key, query=query, allowed=(404,)))

    def _refuses(
        self, method: str, headers: Mapping[str, str], body: bytes = b"", query: list[tuple[str, str]] | None = None
    ) -> bool:
        ask = Ask(method, self._path, self._key, query or (), headers, body, allowed=_REFUSED)
        answer = self._caller.call(ask)
        return answer.status in _REFUSED or b"<Error" in answer.body

    def _remove(self) -> None:
        with suppress(OSError):
            self._caller.call(Ask("DELETE", self._path, self._key, allowed=(404,)))
