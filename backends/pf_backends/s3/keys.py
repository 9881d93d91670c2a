"""Between the paths of a backend and the keys of objects, and between what both are told with."""

from __future__ import annotations

import base64
import binascii
import calendar
import errno
import json
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

from pf_backends.entries import ROOT, Entry, Facts, Kind
from pf_backends.errors import failure, unsupported
from pf_backends.hidden import OWN
from pf_backends.paths import encoded, is_path

LONGEST_KEY = 1024
"""Bytes."""
_MOST_FACTS = 2000
"""Bytes of the headers that are kept with an object; the store's limit is 2 KiB."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_META = "x-amz-meta-"
PROBE = f"{OWN}probe-"
"""How the objects are called by which it is found out what a store can do. They are there for moments, and nobody's."""
WRITE = f"{_META}pf-write"
"""Tells writes apart, so that one whose answer was lost knows its own."""


class Keys:
    """The keys below a prefix."""

    def __init__(self, prefix: str) -> None:
        self._top = f"{prefix}/" if prefix else ""

    @property
    def longest(self) -> int:
        """Bytes of the path of a file."""
        return LONGEST_KEY - len(encoded(self._top))

    def of(self, path: str) -> str:
        """The key of a file."""
        key = self._top + path
        if len(encoded(key)) > LONGEST_KEY:
            raise failure(errno.ENAMETOOLONG, path, f"would be an object with a key of more than {LONGEST_KEY} bytes")
        return key

    def inside(self, folder: str) -> str:
        """How all keys begin that lie in a folder; and the key of its marker."""
        return self._top if folder == ROOT else f"{self.of(folder)}/"

    def path(self, key: str) -> str | None:
        """The path of a key; None if nothing can be called so."""
        path = key.removeprefix(self._top)
        hidden = path.startswith(PROBE) or not key.startswith(self._top)
        return None if hidden or not is_path(path) else path


def file_entry(path: str, size: str, modified: int, etag: str) -> Entry:
    return Entry(path, Kind.FILE, int(size) if size.isdecimal() else 0, modified, version_of(etag))


def folder_entry(path: str) -> Entry:
    """When it was made only the marker tells, which not all have, and no list."""
    return Entry(path, Kind.FOLDER)


def version_of(etag: str) -> str:
    return etag.strip('"')


def etag_of(version: str) -> str:
    return version if version.startswith("W/") else f'"{version}"'


def time_of_list(text: str) -> int:
    """In nanoseconds, without fractions of a second: not all answers have them."""
    try:
        return int(datetime.fromisoformat(text).timestamp()) * 1_000_000_000
    except ValueError:
        return 0


def time_of_header(text: str) -> int:
    """Of ``Wed, 21 Oct 2015 07:28:00 GMT``, in nanoseconds."""
    try:
        month = _MONTHS.index(text[8:11]) + 1
        moment = (int(text[12:16]), month, int(text[5:7]), int(text[17:19]), int(text[20:22]), int(text[23:25]))
        return calendar.timegm(moment) * 1_000_000_000
    except ValueError:
        return _any_time(text)


def headers_of(path: str, facts: Facts) -> Mapping[str, str]:
    """How an object keeps facts: the names are those that s3fs and rclone use too, but for the attributes."""
    headers: dict[str, str] = {}
    if facts.modified is not None:
        headers[f"{_META}mtime"] = f"{facts.modified // 10**9}.{facts.modified % 10**9:09}"
    if facts.mode is not None:
        headers[f"{_META}mode"] = str(facts.mode)
    if facts.owner is not None:
        headers[f"{_META}uid"], headers[f"{_META}gid"] = map(str, facts.owner)
    if facts.attributes:
        headers[f"{_META}pf-attributes"] = _packed(path, facts.attributes)
    if sum(len(name) + len(value) for name, value in headers.items()) > _MOST_FACTS:
        raise failure(errno.ENOSPC, path, "has more attributes than an object store keeps")
    return headers


def facts_of(headers: Mapping[str, str]) -> Facts:
    """What an object keeps; what cannot be read is left out."""
    mode, uid, gid = (headers.get(f"{_META}{name}", "") for name in ("mode", "uid", "gid"))
    return Facts(
        _kept_time(headers.get(f"{_META}mtime", "")),
        int(mode) & 0o7777 if mode.isdecimal() else None,
        (int(uid), int(gid)) if uid.isdecimal() and gid.isdecimal() else None,
        _unpacked(headers.get(f"{_META}pf-attributes", "")),
    )


def _packed(path: str, attributes: Mapping[str, bytes]) -> str:
    if any(not name.startswith("user.") for name in attributes):
        raise unsupported(path, "an object store keeps attributes of users only: user.…")
    values = {name: base64.b64encode(value).decode() for name, value in attributes.items()}
    return base64.b64encode(json.dumps(values).encode()).decode()


def _unpacked(text: str) -> dict[str, bytes]:
    try:
        values = json.loads(base64.b64decode(text, validate=True)) if text else {}
        return {str(name): base64.b64decode(value) for name, value in dict(values).items()}
    except (binascii.Error, ValueError, TypeError):
        return {}


def _kept_time(text: str) -> int | None:
    whole, _, fraction = text.partition(".")
    if not whole.isdecimal() or not (fraction or "0").isdecimal():
        return None
    return int(whole) * 10**9 + int(fraction[:9].ljust(9, "0"))


def _any_time(text: str) -> int:
    try:
        return int(parsedate_to_datetime(text).timestamp()) * 1_000_000_000
    except ValueError:
        return 0
