"""Where the files of a volume lie: what its author and its secret say, looked at before anybody is asked."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from pf_csi.records import RECORD_KEY
from pf_csi.refusals import Refusal, Why

SECRET = frozenset(("secretKey", "sessionToken", "password", "privateKey", "keytab.data"))
"""What is never told outside of a secret."""
PROPERTIES = frozenset(
    (
        "endpoint",
        "region",
        "accessKey",
        "s3ForcePathStyle",
        "insecureSkipVerify",
        "ca",
        "user",
        "group",
        "hostKey",
        "dfs.namenode.address",
        "blockSize",
        "replication",
        "acl",
    )
)
KUBERNETES = "csi.storage.k8s.io/"
"""What the kubelet tells of the pod begins so, and so do tokens of its account, which are not used."""
PROVISIONER = "storage.kubernetes.io/"
OWN = frozenset(("url", "subPath", "filesystem", RECORD_KEY))
KINDS = ("s3", "bos", "hdfs", "sftp", "local")
LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Place:
    """Where files lie, and what opens it."""

    url: str
    properties: Mapping[str, str] = field(default_factory=dict)
    """Said in the open."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    size: int | None = None
    """Bytes that may lie in it; None: any number."""

    @property
    def all(self) -> Mapping[str, str]:
        return {**self.secrets, **self.properties}

    def within(self, folder: str) -> Place:
        """A folder of it."""
        return replace(self, url=f"{self.url.rstrip('/')}/{folder}") if folder else self


@dataclass(frozen=True, slots=True)
class Named:
    """A filesystem that the filesystem service knows."""

    name: str
    """``owner/name``, or ``name`` of the owner of the token."""
    folder: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Rules:
    """What the administrator of the machine allows."""

    kinds: Collection[str] = ("s3", "bos", "hdfs", "sftp")
    folders: Collection[str] = ()
    """Folders of the machine that volumes may be, with all below them; none that pods bring themselves."""


def place_of(context: Mapping[str, str], secrets: Mapping[str, str], rules: Rules, *, inline: bool) -> Place | Named:
    """Where a volume lies. Refusal with all that is wrong with what was said.

    `inline`: the author of a pod has said it, who is nobody in particular.
    """
    told = {name: text for name, text in context.items() if not name.startswith((KUBERNETES, PROVISIONER))}
    hidden = {name: text for name, text in secrets.items() if not name.startswith(KUBERNETES)}
    wrong = [*_wrong_names(told, hidden), *_wrong_texts(told, hidden)]
    if wrong:
        raise Refusal(Why.MALFORMED, "; ".join(wrong))
    folder = _folder(told.get("subPath", ""))
    if name := told.get("filesystem"):
        return _named(name, folder, hidden)
    url = told.get("url") or hidden.get("url", "")
    _check_url(url, rules, inline=inline)
    properties = {name: text for name, text in told.items() if name in PROPERTIES}
    # All of a secret may become another one, and the volume stays the same.
    kept = {name: text for name, text in hidden.items() if name in PROPERTIES | SECRET}
    return Place(url, properties, kept).within(folder)


def digest(salt: bytes, *parts: object) -> str:
    """The same for the same parts; whoever does not know the salt cannot try out what secrets are in them."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True).encode()
    return blake2b(text, digest_size=16, key=salt).hexdigest()


def _wrong_names(told: Mapping[str, str], hidden: Mapping[str, str]) -> list[str]:
    wrong = [f"{name} belongs in a secret, not in the volume" for name in sorted(told.keys() & SECRET)]
    known = PROPERTIES | OWN | SECRET
    wrong += [f"the volume has {name[:40]!r}, which is not known" for name in sorted(told.keys() - known)[:5]]
    known |= {"token"}
    wrong += [f"the secret has {name[:40]!r}, which is not known" for name in sorted(hidden.keys() - known)[:5]]
    return wrong


def _wrong_texts(told: Mapping[str, str], hidden: Mapping[str, str]) -> list[str]:
    """Values are not repeated."""
    both = [*told.items(), *hidden.items()]
    return [f"{name[:40]!r} has a byte of zero" for name, text in both if "\0" in text or "\0" in name]


def _folder(path: str) -> str:
    parts = [part for part in path.split("/") if part]
    if ".." in parts or "." in parts or path.startswith("/") or not path.isprintable():
        raise Refusal(Why.MALFORMED, "subPath must be a relative path without '.' and '..'")
    return "/".join(parts)


def _named(name: str, folder: str, hidden: Mapping[str, str]) -> Named:
    if not hidden.get("token"):
        raise Refusal(Why.UNPROVEN, "the secret must have a token of PaddleFlow: paddleflow token create")
    if name.count("/") > 1 or not all(name.split("/")):
        raise Refusal(Why.MALFORMED, "filesystem must be as in owner/name")
    return Named(name, folder, hidden["token"])


def _check_url(url: str, rules: Rules, *, inline: bool) -> None:
    kind, marks, path = url.partition("://")
    if not marks or kind not in KINDS:
        raise Refusal(Why.MALFORMED, f"url must be given, as in s3://bucket/folder; kinds are {', '.join(KINDS)}")
    if ".." in path.split("/") or "@" in path.partition("/")[0] or not url.isprintable():
        raise Refusal(Why.MALFORMED, "url must not have '..', a user, and control characters")
    if kind == LOCAL:
        _check_folder(path, rules, inline=inline)
    elif kind not in rules.kinds:
        raise Refusal(Why.FORBIDDEN, f"volumes of kind {kind} are not allowed on this machine; ask its administrator")


def _check_folder(path: str, rules: Rules, *, inline: bool) -> None:
    allowed = [folder.rstrip("/") for folder in rules.folders]
    plain = "/" + "/".join(part for part in path.split("/") if part not in {"", "."})
    if inline:
        raise Refusal(Why.FORBIDDEN, f"{plain}: a pod brings no folder of the machine; ask its administrator for one")
    if not any(plain == folder or plain.startswith(f"{folder}/") for folder in allowed):
        raise Refusal(Why.FORBIDDEN, f"{plain} is no volume on this machine; its administrator may allow it")
