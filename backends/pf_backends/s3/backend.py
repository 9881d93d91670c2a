"""An object store that speaks as S3 does."""

from __future__ import annotations

import errno
import secrets
import ssl
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace as changed_in

from pf_backends.entries import ROOT, Capabilities, Condition, Entry, Facts, Kind, Page, Part, Space, Upload
from pf_backends.errors import Changed, changed, failure, unsupported
from pf_backends.kept import require_version
from pf_backends.paths import file_path, folder_path
from pf_backends.port import ANYTHING, NO_FACTS
from pf_backends.s3 import copying, listing, reading, removing, uploads
from pf_backends.s3.calls import Ask, Caller
from pf_backends.s3.conditions import Honoured, probed
from pf_backends.s3.conditions import headers_of as condition_headers
from pf_backends.s3.keys import WRITE, Keys, facts_of, folder_entry, headers_of, time_of_header, version_of
from pf_backends.s3.remembered import Remembered
from pf_backends.s3.settings import Renew, S3Settings
from pf_backends.s3.wholes import Wholes
from pf_backends.wire.messages import Answer
from pf_backends.wire.pool import Pool

_MOST_PUT = 5 << 30
_CAPABILITIES = Capabilities(
    copies=True, parts=uploads.PARTS, most_put=_MOST_PUT, deep=True, folders=False, attributes=True
)


class S3Backend:
    """Fulfils `Backend` with the objects below a prefix of a bucket.

    A folder is a prefix of keys, or an empty object whose key ends with a slash. What is kept beside bytes is kept with
    the object; a list does not tell of it, so that permissions and owners are told by `attributes` alone.
    """

    def __init__(self, settings: S3Settings, *, renew: Renew | None = None) -> None:
        self._settings = settings
        self._address = settings.address
        self._keys = Keys(settings.prefix)
        endpoint = settings.endpoint
        if not settings.path_style:
            endpoint = changed_in(endpoint, host=f"{settings.bucket}.{endpoint.host}")
        self._pool = Pool(
            endpoint,
            reach=settings.reach,
            context=_context(settings) if endpoint.tls else None,
            patience=settings.patience,
            most=settings.connections,
        )
        self._caller = Caller(settings, self._pool, renew)
        self._remembered = Remembered()
        self._guard = threading.Lock()
        self._seen: Honoured | None = None
        self._acl = {"x-amz-acl": settings.acl} if settings.acl else {}

    @property
    def capabilities(self) -> Capabilities:
        """Whether conditions are honoured is known after `check`, or the first write with one."""
        seen = self._seen or Honoured()
        return changed_in(_CAPABILITIES, conditional=seen.puts and seen.uploads, longest=self._keys.longest)

    @property
    def address(self) -> str:
        return self._address

    def check(self) -> None:
        """Also finds out, by a write if that is allowed, what the store does about conditions."""
        listing.first_below(self._caller, self._keys, ROOT)
        if not self._settings.read_only:
            self._honoured()

    def close(self) -> None:
        self._caller.close()

    def stat(self, path: str) -> Entry:
        if folder_path(path) == ROOT:
            return folder_entry(ROOT)
        found = reading.look(self._caller, self._keys, path)
        return reading.entry_of(path, found.headers) if found else self._folder(path)

    def list(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page:
        return listing.inside(self._caller, self._keys, self._remembered, folder_path(folder), rest, limit)

    def walk(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page:
        return listing.below(self._caller, self._keys, folder_path(folder), rest, limit)

    def read(self, path: str, offset: int, into: memoryview, *, version: str = "") -> int:
        return reading.read(self._caller, self._keys, file_path(path), offset, into, version)

    def fetch(self, path: str, *, limit: int) -> tuple[Entry, bytes]:
        return reading.fetch(self._caller, self._keys, file_path(path), limit)

    def wholes(self) -> Wholes:
        """Fulfils `Swift`."""
        return Wholes(self._caller, self._keys, self._pool)

    def put(
        self, path: str, body: memoryview | bytes, *, facts: Facts = NO_FACTS, condition: Condition = ANYTHING
    ) -> Entry:
        written = self.put_hastily(path, body, facts=facts, condition=condition)
        return self._now(path, written.version, written.size)

    def put_hastily(
        self, path: str, body: memoryview | bytes, *, facts: Facts = NO_FACTS, condition: Condition = ANYTHING
    ) -> Entry:
        """Fulfils `Hasty`: a store answers when it has the object, and dates it about then."""
        size = memoryview(body).nbytes
        if size > _MOST_PUT:
            raise failure(errno.EFBIG, path, f"is larger than {_MOST_PUT} bytes, which is all that is written at once")
        headers = {**headers_of(path, facts), **self._acl, reading.CHECKSUM: reading.checksum(body)}
        told = self._written(file_path(path), body, headers, condition)
        return reading.entry_of(path, told, size)

    def begin(self, path: str, *, facts: Facts = NO_FACTS) -> Upload:
        return uploads.begin(self._caller, self._keys, file_path(path), facts, self._acl, checked=self._checks)

    def send(self, upload: Upload, number: int, body: memoryview | bytes) -> Part:
        return uploads.send(self._caller, self._keys, upload, number, body)

    def finish(self, upload: Upload, parts: Sequence[Part], *, condition: Condition = ANYTHING) -> Entry:
        if condition != ANYTHING and not self._honoured().uploads:
            self._require(upload.path, condition)
        return uploads.finish(self._caller, self._keys, upload, parts, condition)

    def drop(self, upload: Upload) -> None:
        uploads.drop(self._caller, self._keys, upload)

    def uploads(self, folder: str) -> Sequence[Upload]:
        found = listing.uploads(self._caller, self._keys, folder_path(folder))
        return sorted(found, key=lambda upload: upload.begun)

    def append(self, path: str, body: memoryview | bytes, *, offset: int) -> Entry:
        raise unsupported(path, "an object store adds nothing to objects")

    def make_folder(self, path: str, *, facts: Facts = NO_FACTS) -> Entry:
        key = self._keys.inside(file_path(path))
        if reading.look(self._caller, self._keys, path) or listing.first_below(self._caller, self._keys, path):
            raise failure(errno.EEXIST, path, "something is there")
        self._caller.call(Ask("PUT", path, key, headers={**headers_of(path, facts), **self._acl}))
        return self._folder(path)

    def make_link(self, path: str, target: str) -> Entry:
        raise unsupported(path, "an object store keeps no links")

    def set_facts(self, path: str, facts: Facts, *, condition: Condition = ANYTHING) -> Entry:
        """The object is copied onto itself: that is the only way. What is implied by others keeps nothing."""
        found = reading.look(self._caller, self._keys, file_path(path))
        entry = reading.entry_of(path, found.headers) if found else self._folder(path)
        require_version(entry, condition)
        if found is None:
            return entry
        version = self._copy_onto_itself(path, found, _merged(facts_of(found.headers), facts))
        return self._now(path, version, entry.size)

    def attributes(self, path: str) -> Facts:
        found = reading.look(self._caller, self._keys, file_path(path))
        if found is None:
            return Facts(self._folder(path).modified, attributes={})
        kept = facts_of(found.headers)
        modified = kept.modified or time_of_header(found.headers.get("last-modified", ""))
        return changed_in(kept, modified=modified)

    def remove(self, path: str, *, condition: Condition = ANYTHING) -> None:
        entry = self.stat(file_path(path))
        if entry.kind is Kind.FOLDER:
            raise failure(errno.EISDIR, path, "is a folder")
        require_version(entry, condition)
        self._caller.call(Ask("DELETE", path, self._keys.of(path), allowed=(404,)))

    def remove_many(self, paths: Sequence[str]) -> Sequence[OSError | None]:
        return removing.remove_many(self._caller, self._keys, [file_path(path) for path in paths])

    def remove_folder(self, path: str) -> None:
        marker = self._keys.inside(file_path(path))
        found = listing.first_below(self._caller, self._keys, path, limit=2)
        if not found:
            raise self._no_folder(path)
        if found != [marker]:
            raise failure(errno.ENOTEMPTY, path, "is not empty")
        self._caller.call(Ask("DELETE", path, marker, allowed=(404,)))

    def rename(self, source: str, target: str, *, replace: bool = True) -> None:
        raise unsupported(source, "an object store renames nothing; copy and remove it")

    def copy(self, source: str, target: str, *, condition: Condition = ANYTHING) -> Entry:
        self._require(file_path(target), condition)
        found = reading.look(self._caller, self._keys, file_path(source))
        if found is None:
            self._folder(source)
            raise failure(errno.EISDIR, source, "is a folder")
        size, paths = reading.entry_of(source, found.headers).size, (source, target)
        if copying.is_large(found):
            kept = facts_of(found.headers)
            version = copying.copy_parts(self._caller, self._keys, found, paths, kept, self._acl, ANYTHING)
        else:
            version = copying.copy_whole(self._caller, self._keys, found, paths, self._acl)
        return self._now(target, version, size)

    def space(self) -> Space | None:
        return None

    @property
    def _checks(self) -> bool:
        """The store was seen to compare what comes with its checksum."""
        return self._seen is not None and self._seen.checksums

    def _honoured(self) -> Honoured:
        """What the store does about conditions, found out once."""
        with self._guard:
            if self._seen is None:
                self._seen = probed(self._caller, self._keys)
            return self._seen

    def _now(self, path: str, version: str, size: int) -> Entry:
        """A version that was just written, with what the store tells of it unless another writer came after."""
        found = reading.look(self._caller, self._keys, path)
        if found and version in ("", version_of(found.headers.get("etag", ""))):
            return reading.entry_of(path, found.headers)
        return Entry(path, Kind.FILE, size, version=version)

    def _folder(self, path: str) -> Entry:
        """A folder that there is, by its marker or by what lies below it."""
        if not listing.first_below(self._caller, self._keys, path):
            raise failure(errno.ENOENT, path, "there is nothing")
        return folder_entry(path)

    def _no_folder(self, path: str) -> OSError:
        if reading.look(self._caller, self._keys, path):
            return failure(errno.ENOTDIR, path, "is no folder")
        return failure(errno.ENOENT, path, "there is nothing")

    def _copy_onto_itself(self, path: str, found: Answer, facts: Facts) -> str:
        """The version that it makes; empty if the store does not say."""
        if copying.is_large(found):
            # It takes a while, in which another one may be written.
            same = Condition(version=version_of(found.headers.get("etag", "")))
            condition = same if self._honoured().uploads else ANYTHING
            return copying.copy_parts(self._caller, self._keys, found, (path, path), facts, self._acl, condition)
        headers = {"x-amz-metadata-directive": "REPLACE", **headers_of(path, facts), **self._acl}
        return copying.copy_whole(self._caller, self._keys, found, (path, path), headers)

    def _written(
        self, path: str, body: memoryview | bytes, headers: Mapping[str, str], condition: Condition
    ) -> Mapping[str, str]:
        """What the store tells of the version that was written."""
        if condition != ANYTHING and not self._honoured().puts:
            self._require(path, condition)
        conditions = condition_headers(condition)
        mark = secrets.token_hex(16)
        if conditions:
            headers = {**headers, **conditions, WRITE: mark}
        try:
            ask = Ask("PUT", path, self._keys.of(path), headers=headers, body=body, checked=self._checks)
            answer = self._caller.call(ask)
        except (Changed, FileNotFoundError) as error:
            # It may be our own, of an attempt whose answer was lost.
            found = reading.look(self._caller, self._keys, path)
            if found is not None and found.headers.get(WRITE) == mark:
                return found.headers
            if condition.version and found is None:
                # Some stores say of what is not there that it is not there, rather than that it is another version.
                raise changed(path, "there is nothing any more") from None
            raise error from None
        return {"etag": answer.headers.get("etag", ""), "last-modified": answer.headers.get("date", "")}

    def _require(self, path: str, condition: Condition) -> None:
        """Changed if a condition does not hold just now."""
        if condition == ANYTHING:
            return
        found = reading.look(self._caller, self._keys, path)
        version = version_of(found.headers.get("etag", "")) if found else ""
        if version != condition.version:
            raise changed(path, "there is another version by now, or something where nothing was to be")


def _context(settings: S3Settings) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=settings.ca or None)
    if not settings.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _merged(kept: Facts, wanted: Facts) -> Facts:
    return Facts(
        kept.modified if wanted.modified is None else wanted.modified,
        kept.mode if wanted.mode is None else wanted.mode,
        wanted.owner or kept.owner,
        kept.attributes if wanted.attributes is None else wanted.attributes,
    )
