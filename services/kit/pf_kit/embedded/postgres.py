"""An embedded Postgres."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from pf_kit.embedded import postgres_settings as settings
from pf_kit.embedded.accounts import Account, this_account
from pf_kit.embedded.binaries import Binaries
from pf_kit.embedded.child import Child, Program, clean_environment
from pf_kit.embedded.component import complete
from pf_kit.embedded.folders import PASSABLE, Locked, account_folder, locked, own_folder, rewrite_of_account
from pf_kit.embedded.processes import vacate
from pf_kit.embedded.refusal import Refusal

DATABASE = "paddleflow"
READY_LINE = 7
"""The line of postmaster.pid, counted from 0, that says how far the server is."""
POLL_SECONDS = 0.02
READABLE = 0o644
"""Mode of the configuration files: they hold no secret."""
NOBODY = 2**31 - 1
"""A process number that Linux never gives out."""
PROGRAMS = ("postgres",)
STOP = ((signal.SIGINT, 20.0), (signal.SIGQUIT, 10.0))
"""How it is ended: in good order, else at once. Good order can take for ever if a child of it just crashed."""
ALONE_SECONDS = 20.0
"""How long a server in another container may take to end once it lost its keeper."""
LEFTOVERS = ((signal.SIGINT, 5.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))
"""How a server is ended that lost its keeper."""


@dataclass(frozen=True, slots=True)
class Postgres:
    """A Postgres server over one folder, reached through a Unix socket only."""

    binaries: Binaries
    cluster: Path
    """The folder that holds the database; the account's own, hence nothing in it is believed to be what it seems."""
    configuration: Path
    """The folder of the configuration files, which the account can read but not change."""
    sockets: Path
    """The folder that holds the socket."""
    account: Account
    """Runs the server."""

    @property
    def name(self) -> str:
        return "postgres"

    @property
    def start_seconds(self) -> float:
        # It is not stuck but repeats what it wrote down before it was killed, and would begin anew.
        return 3600.0

    @property
    def dsn(self) -> str:
        """Where to connect; only this account and the server's may."""
        return (
            f"postgresql://{settings.USER}@/{DATABASE}?host={quote(str(self.sockets), safe='/')}&port={settings.PORT}"
        )

    async def prepare(self) -> None:
        account_folder(self.sockets, self.account)
        if not self.cluster.exists():
            await self._create_cluster()
        account_folder(self.cluster, self.account)
        self._require_version()
        await vacate(self.cluster, PROGRAMS, LEFTOVERS)
        await self._wait_until_alone()
        self._disarm_locks()
        self._configure()

    def program(self) -> Program:
        server = self._program("postgres", "-D", str(self.cluster), *self._configured())
        return replace(server, lock=self._lock)

    async def wait_ready(self, child: Child) -> None:
        while True:
            if self._is_ready(child.pid):
                return
            await asyncio.sleep(POLL_SECONDS)

    def _is_ready(self, pid: int) -> bool:
        lines = self._pid_lines()
        return len(lines) > READY_LINE and lines[0] == str(pid) and lines[READY_LINE].strip() == "ready"

    def _pid_lines(self) -> list[str]:
        try:
            return (self.cluster / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return []

    async def _create_cluster(self) -> None:
        """Makes the cluster elsewhere and moves it into place when it is whole."""
        fresh = self.cluster.with_name(f"{self.cluster.name}.new")
        if fresh.exists():
            shutil.rmtree(fresh)
        account_folder(fresh, self.account)
        await complete(self._program("initdb", *_initdb_options(fresh)), said="")
        self._configure()
        alone = self._program("postgres", "--single", "-D", str(fresh), *self._configured(), "template1")
        await complete(alone, said=f"CREATE DATABASE {DATABASE}\n")
        fresh.rename(self.cluster)

    def _configure(self) -> None:
        own_folder(self.configuration, PASSABLE)
        who = (self.account.name, this_account().name)
        texts = {
            "config_file": settings.configuration(self.binaries.major, self.sockets),
            "hba_file": settings.access(),
            "ident_file": settings.identities(who),
        }
        for name, text in texts.items():
            file = self._configuration_file(name)
            file.write_text(text)
            file.chmod(READABLE)

    def _configured(self) -> list[str]:
        return [f"--{name}={self._configuration_file(name)}" for name in ("config_file", "hba_file", "ident_file")]

    def _configuration_file(self, name: str) -> Path:
        return self.configuration / f"{name}.conf"

    def _require_version(self) -> None:
        found = (self.cluster / "PG_VERSION").read_text().strip()
        if found != str(self.binaries.major):
            raise Refusal(
                f"{self.cluster} was made by Postgres {found}, but here is Postgres {self.binaries.major}",
                f"Install Postgres {found} again, run pf backup there, and restore into a new data folder.",
            )

    @property
    def _lock(self) -> Path:
        return self.cluster.with_name(f"{self.cluster.name}.lock")

    async def _wait_until_alone(self) -> None:
        """Waits for a server that cannot be seen from here, as one in another container that lost its keeper."""
        self._lock.touch(mode=0o600)
        try:
            async with asyncio.timeout(ALONE_SECONDS):
                while True:
                    if _is_free(self._lock):
                        return
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError:
            raise Refusal(
                f"another Postgres works on {self.cluster}, maybe in another container",
                "Stop it first, or choose another data folder with --data.",
            ) from None

    def _disarm_locks(self) -> None:
        """Lets the lock files of a dead server name nobody, to be called once it is known to be dead.

        Its number may have gone to something else, or its remains may wait to be reaped: Postgres would take either for
        a server that runs. The lock itself stays, because Postgres frees the shared memory that it names.
        """
        rewrite_of_account(
            self.cluster / "postmaster.pid", self.account, lambda text: re.sub(r"\A\d+", str(NOBODY), text)
        )
        (self.sockets / f".s.PGSQL.{settings.PORT}.lock").unlink(missing_ok=True)

    def _program(self, name: str, *arguments: str) -> Program:
        return Program(
            argv=(str(self.binaries.folder / name), *arguments),
            environment=clean_environment(),
            folder=self.sockets,
            account=self.account,
            # At once, rather than in good order: nobody is left to wait, and nothing that was committed is lost.
            death_signal=signal.SIGQUIT,
            stop=STOP,
        )


def _is_free(lock: Path) -> bool:
    try:
        with locked(lock):
            return True
    except Locked:
        return False


def _initdb_options(cluster: Path) -> list[str]:
    return [
        f"--pgdata={cluster}",
        f"--username={settings.USER}",
        "--encoding=UTF8",
        "--locale=C",
        "--auth=peer",
        "--data-checksums",
    ]
