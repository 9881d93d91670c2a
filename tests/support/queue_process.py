"""The queue service as a process of its own."""

from __future__ import annotations

import secrets
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from paddleflow.auth.v1 import auth_pb2, auth_pb2_grpc
from pf_kit.tokens import new_private_key
from support.servers import short_folder
from support.service_process import ServiceProcess

ROOT_PASSWORD = "rootpass1"


@dataclass
class QueueProcess(ServiceProcess):
    """`pf-queue`."""

    name = "queue"
    dsn: str
    redis: str
    settings: Mapping[str, str] = field(default_factory=dict)
    folder: Path = field(default_factory=short_folder)

    def __post_init__(self) -> None:
        self.signing_key.write_bytes(new_private_key())
        self._credential_key.write_bytes(b64encode(secrets.token_bytes(32)))

    @property
    def signing_key(self) -> Path:
        return self.folder / "signing.pem"

    @property
    def _credential_key(self) -> Path:
        return self.folder / "credential.key"

    @property
    def common(self) -> Mapping[str, str]:
        """What every service is told of the installation."""
        return {"DATABASE_DSN": self.dsn, "REDIS": self.redis, "SIGNING_KEY_FILE": str(self.signing_key)}

    @property
    def told(self) -> Mapping[str, str]:
        return {
            **self.common,
            "CREDENTIAL_KEY_FILE": str(self._credential_key),
            "ACCOUNTS_ROOT_PASSWORD": ROOT_PASSWORD,
        }

    def log_in(self, user: str, password: str) -> str:
        """The secret of a new token."""
        with grpc.insecure_channel(self.address) as channel:
            login = auth_pb2_grpc.AuthServiceStub(channel).Login
            return login(auth_pb2.LoginRequest(user=user, password=password), timeout=20).secret
