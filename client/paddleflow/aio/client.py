"""The client as a whole: one connection, and all that can be done over it."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from paddleflow.address import ENTRANCE, SERVICES
from paddleflow.aio.artifacts import Artifacts
from paddleflow.aio.audit import Audit, Info
from paddleflow.aio.clusters import Clusters, Flavours
from paddleflow.aio.datasets import Datasets
from paddleflow.aio.files import Files
from paddleflow.aio.filesystems import Filesystems
from paddleflow.aio.jobs import Jobs
from paddleflow.aio.links import FilesystemLinks
from paddleflow.aio.logs import Logs
from paddleflow.aio.mounts import FilesystemMounts
from paddleflow.aio.pipelines import Pipelines
from paddleflow.aio.queues import Queues
from paddleflow.aio.runs import Runs
from paddleflow.aio.schedules import Schedules
from paddleflow.aio.session import Session
from paddleflow.aio.statistics import Statistics
from paddleflow.aio.users import Grants, Tokens, Users
from paddleflow.aio.workloads import Workloads
from paddleflow.channel import Tls, open_channel
from paddleflow.config import load_config
from paddleflow.configured import configured_connection
from paddleflow.connection import Connection


class AsyncPaddleFlow:
    """A connection to PaddleFlow; use it as a context manager, or close it.

    It connects, and logs in, with the first call. Failures are raised as `paddleflow.problems.Problem`.
    """

    def __init__(self, connection: Connection) -> None:
        self._channels = {address: open_channel(address, connection.tls) for address in connection.addresses}
        at = {service: self._channels[connection.address_of(service)] for service in SERVICES}
        session = Session(at[ENTRANCE], connection)
        self.info = Info(session)
        self.users = Users(session)
        self.tokens = Tokens(session)
        self.grants = Grants(session)
        self.clusters = Clusters(session)
        self.flavours = Flavours(session)
        self.queues = Queues(session)
        self.workloads = Workloads(session)
        self.filesystems = Filesystems(session, at["fs"])
        self.files = Files(session, at["fs"])
        self.links = FilesystemLinks(session, at["fs"])
        self.mounts = FilesystemMounts(session, at["fs"])
        self.jobs = Jobs(session, at["job"])
        self.logs = Logs(session, at["job"])
        self.statistics = Statistics(session, at["job"])
        self.datasets = Datasets(session, at["job"])
        self.pipelines = Pipelines(session, at["pipeline"])
        self.runs = Runs(session, at["pipeline"])
        self.schedules = Schedules(session, at["pipeline"])
        self.artifacts = Artifacts(session, at["pipeline"])
        self.audit = Audit(session, at)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the connection, and all calls under way."""
        for channel in self._channels.values():
            await channel.close()


def connect(
    address: str, *, user: str = "", password: str = "", token: str = "", tls: Tls | None = None, timeout: float = 10.0
) -> AsyncPaddleFlow:
    """A client of the server at ``host:port`` or ``unix:/path/of/socket``."""
    return AsyncPaddleFlow(Connection(address, user=user, password=password, token=token, tls=tls, timeout=timeout))


def connect_configured(config: Path | None = None) -> AsyncPaddleFlow:
    """A client by the configuration that the command line uses: the file, and the variables PADDLEFLOW_*.

    Without a path the file is the one named by PADDLEFLOW_CONFIG, else ``~/.paddleflow/paddleflow.ini``.
    """
    return AsyncPaddleFlow(configured_connection(load_config(config, os.environ)))
