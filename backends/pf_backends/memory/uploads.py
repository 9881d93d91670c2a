"""Uploads in parts that are kept in memory."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from pf_backends.entries import Facts, Part, Parts, Upload
from pf_backends.errors import failure


@dataclass(slots=True)
class _Arriving:
    upload: Upload
    facts: Facts
    bodies: dict[int, bytes] = field(default_factory=dict)


class Uploads:
    """The uploads of a backend. Not for several threads at once."""

    def __init__(self, limits: Parts) -> None:
        self._limits = limits
        self._arriving: dict[str, _Arriving] = {}
        self._finished: dict[str, str] = {}
        self._ids = count(1)

    def begin(self, path: str, facts: Facts, begun: int) -> Upload:
        upload = Upload(path, str(next(self._ids)), begun)
        self._arriving[upload.id] = _Arriving(upload, facts)
        return upload

    def send(self, upload: Upload, number: int, body: bytes) -> Part:
        if not 1 <= number <= self._limits.count or len(body) > self._limits.most:
            raise failure(errno.EINVAL, upload.path, f"part {number} of {len(body)} bytes is none of an upload")
        self._of(upload).bodies[number] = body
        return Part(number, len(body), _tag(body))

    def whole(self, upload: Upload, parts: Sequence[Part]) -> tuple[bytes, Facts]:
        """The bytes of the parts, one after another."""
        arriving = self._of(upload)
        ordered = sorted(parts, key=lambda part: part.number)
        for part in ordered:
            if _tag(arriving.bodies.get(part.number, b"")) != part.tag:
                raise failure(errno.EINVAL, upload.path, f"part {part.number} did not arrive")
        if any(part.size < self._limits.least for part in ordered[:-1]):
            raise failure(errno.EINVAL, upload.path, f"all parts but the last have {self._limits.least} bytes or more")
        return b"".join(arriving.bodies[part.number] for part in ordered), arriving.facts

    def done(self, upload: Upload, version: str) -> None:
        del self._arriving[upload.id]
        self._finished[upload.id] = version

    def version_of(self, upload: Upload) -> str:
        """Of the file that an upload became; empty if it did not."""
        return self._finished.get(upload.id, "")

    def drop(self, upload: Upload) -> None:
        self._arriving.pop(upload.id, None)

    def left(self, folder: str) -> Sequence[Upload]:
        inside = f"{folder}/" if folder else ""
        return [each.upload for each in self._arriving.values() if each.upload.path.startswith(inside)]

    def _of(self, upload: Upload) -> _Arriving:
        arriving = self._arriving.get(upload.id)
        if arriving is None:
            raise failure(errno.ENOENT, upload.path, "the upload is there no more")
        return arriving


def _tag(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
