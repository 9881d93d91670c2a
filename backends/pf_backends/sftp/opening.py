"""Opens what is reached over SSH, once the rest of its properties is known to be right."""

from __future__ import annotations

import asyncssh

from pf_backends.properties import Properties
from pf_backends.reach import Reach
from pf_backends.sftp.backend import SftpBackend
from pf_backends.sftp.settings import SftpSettings


def opened(
    host: str, port: int, user: str, path: str, properties: Properties, reach: Reach, deadline: float
) -> SftpBackend:
    """Raises Malformed if a key is none."""
    private, public = properties.text("privateKey"), properties.text("hostKey")
    if private and not _is_private_key(private):
        properties.wrong("privateKey", "must be a key without a passphrase, in PEM or as OpenSSH writes it")
    if public and not public.startswith("SHA256:") and not _is_public_key(public):
        properties.wrong("hostKey", "must be as in SHA256:… or as OpenSSH writes public keys")
    properties.finish()
    password = properties.text("password")
    return SftpBackend(SftpSettings(host, port, user, path, password, private, public, reach, deadline))


def _is_private_key(text: str) -> bool:
    try:
        asyncssh.import_private_key(text)
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError):
        return False
    return True


def _is_public_key(text: str) -> bool:
    try:
        asyncssh.import_public_key(text)
    except asyncssh.KeyImportError:
        return False
    return True
