"""The queue service as a process of its own, for tests that talk to it as others do."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from paddleflow.auth.v1 import auth_pb2, auth_pb2_grpc
from pf_kit.tokens import new_private_key
from support.servers import short_folder

ROOT_PASSWORD = "rootpass1"
PATIENCE = 40.0
"""Seconds for a start on a machine that is busy with other things."""


@dataclass
class QueueProcess:
    """`pf-queue`; `start` after `stop` or `kill` finds the same data."""

    dsn: str
    redis: str
    settings: Mapping[str, str] = field(default_factory=dict)
    folder: Path = field(default_factory=short_folder)

    def __post_init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        (self.folder / "signing.pem").write_bytes(new_private_key())
        (self.folder / "credential.key").write_bytes(b64encode(secrets.token_bytes(32)))

    @property
    def address(self) -> str:
        return f"unix:{self.folder}/queue.sock"

    @property
    def log(self) -> str:
        return (self.folder / "queue.log").read_text()

    @property
    def environment(self) -> dict[str, str]:
        """Its settings."""
        return {
            "PF_QUEUE_DATABASE_DSN": self.dsn,
            "PF_QUEUE_REDIS": self.redis,
            "PF_QUEUE_SERVER_LISTEN": self.address,
            "PF_QUEUE_SIGNING_KEY_FILE": str(self.folder / "signing.pem"),
            "PF_QUEUE_CREDENTIAL_KEY_FILE": str(self.folder / "credential.key"),
            "PF_QUEUE_ACCOUNTS_ROOT_PASSWORD": ROOT_PASSWORD,
            **self.settings,
        }

    def start(self) -> None:
        """Starts, and waits until calls are answered."""
        with (self.folder / "queue.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "pf_queue"], env=os.environ | self.environment, stdout=log, stderr=log
            )
        deadline = time.monotonic() + PATIENCE
        with grpc.insecure_channel(self.address) as channel:
            ready = grpc.channel_ready_future(channel)
            while True:
                try:
                    ready.result(0.2)
                    return
                except grpc.FutureTimeoutError:
                    assert self._process.poll() is None, self.log
                    assert time.monotonic() < deadline, self.log

    def stop(self) -> int:
        """Stops gently; gives the exit status."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.folder)

    def log_in(self, user: str, password: str) -> str:
        """The secret of a new token."""
        with grpc.insecure_channel(self.address) as channel:
            login = auth_pb2_grpc.AuthServiceStub(channel).Login
            return login(auth_pb2.LoginRequest(user=user, password=password), timeout=20).secret

    def _end(self, how: signal.Signals) -> int:
        if self._process is None:
            return 0
        self._process.send_signal(how)
        status = self._process.wait(20)
        self._process = None
        return status
