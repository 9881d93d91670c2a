"""Who is who in a cluster: certificates of one authority, and the kubeconfigs that use them."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from support.certificates import Authority, Issued

NODE = "node-1"
LASTS = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Identity:
    """A user of the API, as Kubernetes itself names those of its parts."""

    user: str
    group: str = ""


IDENTITIES: Mapping[str, Identity] = {
    "admin": Identity("admin", "system:masters"),
    "controller-manager": Identity("system:kube-controller-manager"),
    "kubelet": Identity(f"system:node:{NODE}", "system:nodes"),
    "proxy": Identity("system:kube-proxy"),
    "scheduler": Identity("system:kube-scheduler"),
}


def write(folder: Path, server: str, hosts: tuple[str, ...]) -> None:
    """All keys, certificates and kubeconfigs of a new cluster whose API is known by these names."""
    folder.mkdir(mode=0o700, parents=True)
    authority = Authority("tests", LASTS)
    (folder / "ca.crt").write_bytes(authority.certificate)
    keep(folder, "apiserver", authority.issue(2, "kube-apiserver", hosts=hosts))
    for serial, (name, identity) in enumerate(IDENTITIES.items(), 3):
        issued = authority.issue(serial, identity.user, identity.group)
        keep(folder, name, issued)
        (folder / f"{name}.kubeconfig").write_text(json.dumps(kubeconfig(server, authority.certificate, issued)))
    write_token_key(folder)


def keep(folder: Path, name: str, issued: Issued) -> None:
    (folder / f"{name}.crt").write_bytes(issued.certificate)
    (folder / f"{name}.key").write_bytes(issued.key)


def kubeconfig(server: str, authority: bytes, issued: Issued) -> dict[str, object]:
    cluster = {"server": server, "certificate-authority-data": b64encode(authority).decode()}
    user = {
        "client-certificate-data": b64encode(issued.certificate).decode(),
        "client-key-data": b64encode(issued.key).decode(),
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "tests", "cluster": cluster}],
        "users": [{"name": "tests", "user": user}],
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
        "current-context": "tests",
    }


def write_token_key(folder: Path) -> None:
    """What tokens of service accounts are signed with."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    (folder / "tokens.key").write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    )
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (folder / "tokens.pub").write_bytes(public)
