"""Opens a backend by its URL and its properties."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePosixPath

from pf_backends.errors import Malformed
from pf_backends.local.backend import LocalBackend
from pf_backends.paths import is_path
from pf_backends.port import Backend
from pf_backends.properties import Properties, host_of
from pf_backends.reach import ANYWHERE, Reach
from pf_backends.s3.backend import S3Backend
from pf_backends.s3.settings import Keys, Renew, S3Settings

_SHOWN = frozenset(("dirMode", "fileMode"))
"""What files are shown with that keep no permissions: a matter of whoever shows them."""
_OBJECTS = _SHOWN | {
    "endpoint",
    "region",
    "accessKey",
    "secretKey",
    "sessionToken",
    "s3ForcePathStyle",
    "insecureSkipVerify",
    "ca",
}
_LONGEST_REGION = 64
_LONGEST_USER = 256
_KERBEROS = frozenset(
    (
        "kerberos.realm",
        "kerberos.kdc",
        "namenode.principal",
        "principal",
        "keytab.data",
        "data.transfer.protection",
    )
)
"""How a cluster is told who calls that wants a proof of it."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is not the user's word."""

    reach: Reach = ANYWHERE
    renew: Renew | None = None
    """Where keys come from that have expired."""
    folder: str = ""
    """Where the machine has mounted what is of a kind that machines mount."""
    read_only: bool = False
    """Nothing is to be written, not even to find out what the place can do."""
    deadline: float = 60.0
    """Seconds for a call."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A URL, taken apart."""

    url: str
    scheme: str
    authority: str
    path: str
    """Without slashes around it."""


_Open = Callable[[_Place, Mapping[str, str], Surroundings], Backend]
USUAL = Surroundings()


def open_backend(url: str, properties: Mapping[str, str], surroundings: Surroundings = USUAL) -> Backend:
    """The backend of a URL. Malformed with all that is wrong; OSError if a folder is not there.

    Whether a server answers is not tried: that is `check`.
    """
    place = _taken_apart(url)
    opening = _KINDS.get(place.scheme)
    if opening is None:
        raise Malformed(f"{url[:200]!r}: the kind of a place is one of {', '.join(f'{kind}://' for kind in _KINDS)}")
    return opening(place, properties, surroundings)


def _taken_apart(url: str) -> _Place:
    scheme, marks, rest = url.partition("://")
    authority, _, path = rest.partition("/")
    names = [name for name in path.split("/") if name]
    if not marks or not (names == [] or is_path("/".join(names))) or "@" in authority or not rest.isprintable():
        raise Malformed(f"{url[:200]!r}: must be as in s3://bucket/path, without a user, '.' and '..'")
    return _Place(url, scheme, authority, "/".join(names))


def _local(place: _Place, properties: Mapping[str, str], _: Surroundings) -> Backend:
    found = Properties(place.url, properties, _SHOWN)
    if place.authority or not place.path:
        found.wrong("the URL", "must hold an absolute path below the root, as in local:///data/images")
    found.finish()
    return LocalBackend(f"/{place.path}")


def _mounted(place: _Place, properties: Mapping[str, str], surroundings: Surroundings) -> Backend:
    found = Properties(place.url, properties, _SHOWN | {"username", "password"})
    if not PurePosixPath(surroundings.folder).is_absolute():
        found.wrong("the URL", f"is of kind {place.scheme}, which this machine has to mount first")
    found.finish()
    return LocalBackend(surroundings.folder)


def _s3(place: _Place, properties: Mapping[str, str], surroundings: Surroundings) -> Backend:
    return _objects(place, properties, surroundings, known=_OBJECTS)


def _bos(place: _Place, properties: Mapping[str, str], surroundings: Surroundings) -> Backend:
    return _objects(place, properties, surroundings, known=_OBJECTS | {"sts", "duration", "acl"})


def _objects(
    place: _Place, properties: Mapping[str, str], surroundings: Surroundings, *, known: Collection[str]
) -> Backend:
    found = Properties(place.url, properties, known)
    region = found.text("region", "us-east-1")
    if len(region) > _LONGEST_REGION or not region.replace("-", "").isalnum():
        found.wrong("region", "must be a name as in us-east-1")
    if not place.authority or ":" in place.authority:
        found.wrong("the URL", f"must name a bucket, as in {place.scheme}://bucket/path")
    found.whole("duration", 43200, 60, 129600)
    found.flag("sts", default=False)
    settings = S3Settings(
        found.endpoint("endpoint"),
        place.authority,
        place.path,
        scheme=place.scheme,
        region=region,
        path_style=found.flag("s3ForcePathStyle", default=True),
        keys=_keys(found),
        ca=_certificates(found),
        verify=not found.flag("insecureSkipVerify", default=False),
        read_only=surroundings.read_only,
        acl=_header(found, "acl"),
        reach=surroundings.reach,
        deadline=surroundings.deadline,
    )
    found.finish()
    return S3Backend(settings, renew=surroundings.renew)


def _keys(found: Properties) -> Keys | None:
    if found.text("sessionToken"):
        found.together("accessKey", "secretKey", "sessionToken")
    if not found.together("accessKey", "secretKey"):
        return None
    return Keys(_header(found, "accessKey"), found.text("secretKey"), _header(found, "sessionToken"))


def _header(found: Properties, name: str) -> str:
    """What goes into a line of a request as it is."""
    value = found.text(name)
    if not (value.isascii() and value.isprintable()) or " " in value:
        found.wrong(name, "must have plain letters, digits and signs only")
    return value


def _certificates(found: Properties) -> str:
    text = found.text("ca")
    if text and "-----BEGIN CERTIFICATE-----" not in text:
        found.wrong("ca", "must be certificates in PEM")
    return text


def _sftp(place: _Place, properties: Mapping[str, str], surroundings: Surroundings) -> Backend:
    found = Properties(place.url, properties, _SHOWN | {"user", "password", "privateKey", "hostKey"})
    where = host_of(place.authority, 22)
    if where is None:
        found.wrong("the URL", "must name a server, as in sftp://host:port/path")
    if not found.text("password") and not found.text("privateKey"):
        found.wrong("password", "must be given, or privateKey")
    user = found.needed("user")
    found.finish()
    host, port = where or ("", 0)
    # It takes a third of a second and 20 MiB, which only those are to pay who need it.
    sftp = import_module("pf_backends.sftp.opening")
    backend: Backend = sftp.opened(host, port, user, place.path, found, surroundings.reach, surroundings.deadline)
    return backend


def _hdfs(place: _Place, properties: Mapping[str, str], surroundings: Surroundings) -> Backend:
    own = {"user", "group", "dfs.namenode.address", "blockSize", "replication"}
    found = Properties(place.url, properties, _SHOWN | own | _KERBEROS)
    names = [host_of(each, 8020) for each in place.authority.split(",")]
    others = found.text("dfs.namenode.address")
    names += [host_of(each, 8020) for each in others.split(",")] if others else []
    known = tuple(dict.fromkeys(name for name in names if name is not None))
    if len(known) < len(set(names)):
        found.wrong("the URL", "must name a name node, as in hdfs://host:port/path, or several with commas between")
    for name in sorted(_KERBEROS & properties.keys()):
        found.wrong(name, "is for clusters with Kerberos, which cannot be used yet; leave it out where there is none")
    user = found.text("user", "hdfs")
    if not user.isprintable() or len(user) > _LONGEST_USER:
        found.wrong("user", f"must be a name of at most {_LONGEST_USER} letters")
    block_size = found.whole("blockSize", 0, 0, 1 << 40)
    replication = found.whole("replication", 0, 0, 512)
    found.finish()
    # As with SSH, only those pay for it who need it.
    hdfs = import_module("pf_backends.hdfs.opening")
    backend: Backend = hdfs.opened(
        known, user, place.path, block_size, replication, surroundings.reach, surroundings.deadline
    )
    return backend


_KINDS: Mapping[str, _Open] = {
    "local": _local,
    "s3": _s3,
    "bos": _bos,
    "sftp": _sftp,
    "hdfs": _hdfs,
    "cfs": _mounted,
    "glusterfs": _mounted,
    "afs": _mounted,
}
