"""Connections by the user's configuration."""

from __future__ import annotations

from pathlib import Path

from paddleflow.channel import Tls
from paddleflow.config import Config
from paddleflow.connection import Connection
from paddleflow.problems import InvalidArgument, Violation
from paddleflow.token_cache import FileTokenCache


def configured_connection(config: Config) -> Connection:
    """How to reach the server that the configuration names; keeps tokens of logins beside the configuration."""
    return Connection(
        address=config.address,
        services=config.services,
        user=config.user,
        password=config.password,
        token=config.token,
        tls=_tls(config) if config.tls else None,
        token_cache=FileTokenCache(config.path.parent / "tokens", config.address, config.user),
    )


def _tls(config: Config) -> Tls:
    return Tls(ca=_pem("ca", config.ca), certificate=_pem("cert", config.cert), key=_pem("key", config.key))


def _pem(name: str, path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidArgument.of(Violation(name, f"{path} cannot be read: {error.strerror}")) from error
