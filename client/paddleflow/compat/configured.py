"""The original's client by the user's configuration."""

from __future__ import annotations

from dataclasses import replace

from paddleflow.compat.client import Client
from paddleflow.connection import Connection
from paddleflow.sync import PaddleFlow


class ConfiguredClient(Client):
    """The same client with all that a configuration says: addresses of services, TLS, a token."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._user, self._password = connection.user, connection.password
        self._paddleflow = self._open()

    def _open(self) -> PaddleFlow:
        return PaddleFlow(replace(self._connection, user=self._user, password=self._password))
