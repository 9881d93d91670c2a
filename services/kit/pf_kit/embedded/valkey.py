"""An embedded Valkey, or Redis."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass
from pathlib import Path

from pf_kit.embedded.accounts import Account
from pf_kit.embedded.binaries import VALKEY_SERVERS, Binaries, valkey_server
from pf_kit.embedded.child import Child, Program, clean_environment
from pf_kit.embedded.folders import account_folder
from pf_kit.embedded.processes import vacate
from pf_kit.embedded.refusal import Refusal

POLL_SECONDS = 0.02
LEFTOVERS = ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0))
"""How a server is ended that lost its keeper: two would spoil the same file."""
PING = b"PING\r\n"
PONG = b"+PONG\r\n"


@dataclass(frozen=True, slots=True)
class Valkey:
    """A Valkey server over one folder, reached through a Unix socket only."""

    binaries: Binaries
    store: Path
    """The folder that holds what it keeps."""
    sockets: Path
    """The folder that holds the socket."""
    account: Account
    """Runs the server."""

    @property
    def name(self) -> str:
        return "valkey"

    @property
    def start_seconds(self) -> float:
        return 600.0

    @property
    def socket(self) -> Path:
        return self.sockets / "valkey.sock"

    @property
    def url(self) -> str:
        """Where to connect; only this account and the server's may."""
        return f"unix://{self.socket}"

    async def prepare(self) -> None:
        account_folder(self.sockets, self.account)
        account_folder(self.store, self.account)
        await vacate(self.store, VALKEY_SERVERS, LEFTOVERS)

    def program(self) -> Program:
        server = valkey_server(self.binaries.folder)
        if server is None:
            raise Refusal(f"the Valkey server is gone from {self.binaries.folder}", "Run pf down, then pf up.")
        return Program(
            argv=(str(server), *_options(self.store, self.socket)),
            environment=clean_environment(),
            folder=self.store,
            account=self.account,
            death_signal=signal.SIGTERM,
            stop=((signal.SIGTERM, 10.0),),
        )

    async def wait_ready(self, _child: Child) -> None:
        while True:
            if await _answer(self.socket) == PONG:
                return
            await asyncio.sleep(POLL_SECONDS)


async def _answer(socket: Path) -> bytes:
    """What the server says to a ping; something else than a pong while it loads, nothing while it does not listen."""
    try:
        reader, writer = await asyncio.open_unix_connection(str(socket))
    except OSError:
        return b""
    try:
        writer.write(PING)
        return await reader.readline()
    except OSError:
        return b""
    finally:
        writer.close()


def _options(store: Path, socket: Path) -> list[str]:
    settings = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(store),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        # What does not fit is refused, never dropped unseen: streams are trimmed by those who write them.
        "maxmemory": "256mb",
        "maxmemory-policy": "noeviction",
        # Housekeeping four times a second instead of ten: an idle stack costs nothing, and still stops quickly.
        "hz": "4",
        "daemonize": "no",
        "logfile": "",
        "loglevel": "notice",
    }
    return [part for name, value in settings.items() for part in (f"--{name}", value)]
