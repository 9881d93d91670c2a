"""The URLs of filesystems, as callers write them. Nothing here looks at a disk or a network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import PurePosixPath

from paddleflow.problems import Violation
from pf_fs.domain import Kind
from pf_fs.paths import parts_of, path_violations

_URL = re.compile(r"([a-z][a-z0-9+.-]{0,31})://(.*)", re.DOTALL)
_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*\.?")
_LONGEST_HOST = 253
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]")
_PORT = re.compile(r"[0-9]{1,5}")
_VOLUME = re.compile(r"[A-Za-z0-9_-]{1,255}")
EXAMPLES = {
    Kind.LOCAL: "local:///data/images",
    Kind.CFS: "cfs://host/path",
    Kind.GLUSTERFS: "glusterfs://host:volume",
    Kind.AFS: "afs://host:port/path",
    Kind.S3: "s3://bucket/path",
    Kind.BOS: "bos://bucket/path",
    Kind.HDFS: "hdfs://host:port/path",
    Kind.SFTP: "sftp://host:port/path",
}
_MEANINGFUL = "?#\\"
"""Letters that programs take for more than a part of a path."""


@dataclass(frozen=True, slots=True)
class Host:
    """A machine that is called, and where."""

    name: str
    """A name, or an address without brackets."""
    port: int | None


@dataclass(frozen=True, slots=True)
class Place:
    """A URL that has no violations, taken apart."""

    kind: Kind
    authority: str
    """Hosts or a bucket; nothing for local folders."""
    path: PurePosixPath
    """Absolute, without doubled slashes and single dots."""

    def __str__(self) -> str:
        path = "" if self.path == PurePosixPath("/") and self.kind is not Kind.LOCAL else str(self.path)
        return f"{self.kind}://{self.authority}{path}"

    def below(self, path: PurePosixPath) -> Place:
        """A folder in the place."""
        return Place(self.kind, self.authority, self.path / path)


def scheme_of(url: str) -> str:
    """What a URL begins with; empty if it is none."""
    match = _URL.fullmatch(url)
    return match[1] if match else ""


def is_served(scheme: str) -> bool:
    return scheme in tuple(Kind)


def place_of(url: str) -> Place:
    """The place of a URL that has no violations."""
    scheme, _, rest = url.partition("://")
    authority, _, path = rest.partition("/")
    return Place(Kind(scheme), authority, PurePosixPath("/", *parts_of(path)))


def host_of(text: str) -> Host | None:
    """The host that is meant by ``host``, ``host:port`` or ``[address]:port``; None if none is."""
    if text.startswith("["):
        name, bracket, rest = text[1:].partition("]")
        if not bracket or rest[:1] not in ("", ":"):
            return None
        return _host(name, rest.removeprefix(":"), has_port=bool(rest))
    name, colon, port = text.partition(":")
    return _host(name, port, has_port=bool(colon))


def url_violations(field: str, url: str) -> Iterator[Violation]:
    """Where a new filesystem lies."""
    scheme = scheme_of(url)
    if not scheme:
        yield Violation(field, f"must be a URL, as in {EXAMPLES[Kind.LOCAL]}")
    elif not is_served(scheme):
        yield Violation(field, f"{scheme} is not served; served are: {', '.join(Kind)}")
    else:
        yield from _served_violations(field, Kind(scheme), url.partition("://")[2])


def _served_violations(field: str, kind: Kind, rest: str) -> Iterator[Violation]:
    authority, slash, path = rest.partition("/")
    yield from path_violations(field, rest)
    if kind is not Kind.LOCAL and any(letter in rest for letter in _MEANINGFUL):
        yield Violation(field, f"must not contain any of {' '.join(_MEANINGFUL)}")
    if kind is Kind.LOCAL:
        yield from _local_violations(field, authority, path, absolute=bool(slash))
    elif not _is_authority(kind, authority):
        yield Violation(field, f"must begin as in {EXAMPLES[kind]}")


def _local_violations(field: str, authority: str, path: str, *, absolute: bool) -> Iterator[Violation]:
    if authority or not absolute:
        yield Violation(field, f"must hold an absolute path, as in {EXAMPLES[Kind.LOCAL]}")
    elif not parts_of(path):
        yield Violation(field, "must not be the root of the machine")


def _is_authority(kind: Kind, text: str) -> bool:
    match kind:
        case Kind.S3 | Kind.BOS:
            return _BUCKET.fullmatch(text) is not None
        case Kind.HDFS:
            hosts = [host_of(each) for each in text.split(",")]
            return all(host is not None and host.port is not None for host in hosts)
        case Kind.GLUSTERFS:
            host, _, volume = text.rpartition(":")
            found = host_of(host)
            return found is not None and found.port is None and _VOLUME.fullmatch(volume) is not None
        case _:
            return host_of(text) is not None


def _host(name: str, port: str, *, has_port: bool) -> Host | None:
    if has_port and not (_PORT.fullmatch(port) and 0 < int(port) < 65536):
        return None
    named = len(name) <= _LONGEST_HOST and _NAME.fullmatch(name) is not None
    return Host(name, int(port) if has_port else None) if named or _is_address(name) else None


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
