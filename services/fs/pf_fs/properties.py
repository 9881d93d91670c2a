"""The properties of each kind of filesystem: which there are, what they may hold, and which are secrets."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from paddleflow.problems import Violation
from pf_fs.domain import Kind
from pf_fs.urls import Host, Place, host_of

Judge = Callable[[str], str]
"""Says what a value must be if it is not; nothing otherwise."""

LONGEST = 4096
_OCTAL = re.compile(r"0?[0-7]{3,4}")
_FLAGS = ("true", "false")


@dataclass(frozen=True, slots=True)
class Property:
    """What a property may hold."""

    judge: Judge
    secret: bool = False


def text(longest: int = 256) -> Judge:
    def judge(value: str) -> str:
        fits = 0 < len(value) <= longest and value.isprintable()
        return "" if fits else f"must have 1 to {longest} characters that show"

    return judge


def whole(least: int, most: int) -> Judge:
    def judge(value: str) -> str:
        digits = value.isascii() and value.isdigit() and len(value) <= len(str(most))
        return "" if digits and least <= int(value) <= most else f"must be a whole number from {least} to {most}"

    return judge


def flag(value: str) -> str:
    return "" if value in _FLAGS else "must be true or false"


def mode(value: str) -> str:
    return "" if _OCTAL.fullmatch(value) else "must be permissions in octal digits, as in 0755"


def endpoint(value: str) -> str:
    return "" if endpoint_host(value) else "must be a host, or a URL of http or https that holds nothing else"


def hosts(value: str) -> str:
    found = [host_of(each) for each in value.split(",")]
    fits = len(value) <= LONGEST and all(found)
    return "" if fits else "must be host:port, or several of them with commas between"


def coded(value: str) -> str:
    try:
        b64decode(value, validate=True)
    except ValueError:
        return "must be in base64"
    return "" if 0 < len(value) <= 16 * LONGEST else f"must have 1 to {16 * LONGEST} characters"


def certificates(value: str) -> str:
    plain = value.isascii() and "-----BEGIN CERTIFICATE-----" in value and "\0" not in value
    return "" if plain and len(value) <= 16 * LONGEST else f"must be certificates in PEM, at most {16 * LONGEST} bytes"


def private_key(value: str) -> str:
    plain = value.isascii() and "PRIVATE KEY-----" in value and "\0" not in value
    return "" if plain and len(value) <= 16 * LONGEST else "must be a private key in PEM, or as OpenSSH writes it"


_OBJECTS = {
    "endpoint": Property(endpoint),
    "region": Property(text(64)),
    "accessKey": Property(text()),
    "secretKey": Property(text(), secret=True),
    "sessionToken": Property(text(LONGEST), secret=True),
    "s3ForcePathStyle": Property(flag),
    "insecureSkipVerify": Property(flag),
    "ca": Property(certificates),
    "dirMode": Property(mode),
    "fileMode": Property(mode),
}
PROPERTIES: Mapping[Kind, Mapping[str, Property]] = {
    Kind.LOCAL: {},
    Kind.CFS: {},
    Kind.GLUSTERFS: {},
    Kind.AFS: {"username": Property(text()), "password": Property(text(), secret=True)},
    Kind.S3: _OBJECTS,
    Kind.BOS: _OBJECTS | {"sts": Property(flag), "duration": Property(whole(60, 129600)), "acl": Property(text())},
    Kind.HDFS: {
        "user": Property(text()),
        "group": Property(text()),
        "dfs.namenode.address": Property(hosts),
        "blockSize": Property(whole(1, 2**40)),
        "replication": Property(whole(1, 512)),
        "kerberos.realm": Property(text()),
        "kerberos.kdc": Property(hosts),
        "namenode.principal": Property(text()),
        "principal": Property(text()),
        "keytab.data": Property(coded, secret=True),
        "data.transfer.protection": Property(text(64)),
    },
    Kind.SFTP: {
        "user": Property(text()),
        "password": Property(text(LONGEST), secret=True),
        "privateKey": Property(private_key, secret=True),
        "hostKey": Property(text(LONGEST)),
    },
}
"""The names are those of the original, and a few more; what is not here is refused."""
_NEEDED = {
    Kind.S3: ("endpoint",),
    Kind.BOS: ("endpoint",),
    Kind.HDFS: (),
    Kind.SFTP: ("user",),
}


def secrets_of(kind: Kind) -> frozenset[str]:
    """The names of its properties that are secrets."""
    return frozenset(name for name, each in PROPERTIES[kind].items() if each.secret)


def parted(kind: Kind, properties: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Those that are no secrets, and those that are."""
    secret = secrets_of(kind)
    plain = {name: value for name, value in properties.items() if name not in secret}
    return plain, {name: value for name, value in properties.items() if name in secret}


def property_violations(kind: Kind, properties: Mapping[str, str], of: str = "filesystem") -> Iterator[Violation]:
    """The properties of a filesystem, or of something else with files elsewhere, secrets among them."""
    known = PROPERTIES[kind]
    for name, value in properties.items():
        if name not in known:
            words = f"has: {', '.join(known)}" if known else "has none"
            yield Violation(_field(of, name), f"is no property of a filesystem of kind {kind}, which {words}")
        elif wrong := known[name].judge(value):
            yield Violation(_field(of, name), wrong)
    for name in _NEEDED.get(kind, ()):
        if name not in properties:
            yield Violation(_field(of, name), "must be given")
    yield from _pair_violations(known, properties, of)


def endpoint_host(value: str) -> Host | None:
    """The host that an endpoint names; None if it is none."""
    if "://" not in value:
        return host_of(value)
    try:
        parts = urlsplit(value)
    except ValueError:
        return None
    bare = parts.path in ("", "/") and not parts.query and not parts.fragment and value.isprintable()
    return host_of(parts.netloc) if parts.scheme in ("http", "https") and bare else None


@dataclass(frozen=True, slots=True)
class Called:
    """A host that is called."""

    name: str
    perhaps: bool = False
    """True if it may not exist."""


def called(place: Place, properties: Mapping[str, str]) -> Sequence[Called]:
    """The hosts that are called to get at the files."""
    match place.kind:
        case Kind.S3 | Kind.BOS:
            host = endpoint_host(properties["endpoint"])
            # Where a server has a name for each bucket, that is the one that is called.
            return [Called(host.name), Called(f"{place.authority}.{host.name}", perhaps=True)] if host else []
        case Kind.HDFS:
            others = [properties[name] for name in ("dfs.namenode.address", "kerberos.kdc") if name in properties]
            return [Called(host.name) for words in (place.authority, *others) for host in _hosts(words)]
        case Kind.SFTP:
            return [Called(host.name) for host in _hosts(place.authority)]
        case _:
            return []


def _hosts(words: str) -> Iterator[Host]:
    for word in words.split(","):
        if host := host_of(word):
            yield host


def _field(of: str, name: str) -> str:
    return f"{of}.properties.{name[:80]}"


def _pair_violations(known: Mapping[str, Property], properties: Mapping[str, str], of: str) -> Iterator[Violation]:
    for one, other in (("accessKey", "secretKey"), ("secretKey", "accessKey"), ("sessionToken", "secretKey")):
        if one in properties and other in known and other not in properties:
            yield Violation(_field(of, other), f"must be given, because {one} is")
