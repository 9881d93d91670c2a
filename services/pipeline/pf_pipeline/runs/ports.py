"""What taking and showing runs needs from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from paddleflow.pipeline.v1 import run_pb2
from pf_kit.principal import Principal
from pf_kit.unit import Change, View
from pf_pipeline.owners import Owner
from pf_pipeline.plans.domain import Plan, Planned
from pf_pipeline.runs.domain import Node, NodeFilter, Order, Source
from pf_pipeline.runs.store import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Where somebody wants a document to come from."""

    document: str = ""
    pipeline_id: str = ""
    pipeline_version: int = 0
    path: str = ""
    filesystem: str = ""
    """The main filesystem by name; empty: the one of the document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A document."""

    text: str
    source: Source
    filesystem: str = ""
    """The main filesystem that goes with it; empty: the one of the document."""


class Documents(Protocol):
    """The port to documents."""

    async def find(self, owner: Owner, wanted: Wanted) -> Found:
        """The document, in the name of a user. Raises DocumentUnreadable, PipelineNotFound, PipelineVersionNotFound,
        and what there is to say of its filesystem.
        """


class Filesystems(Protocol):
    """The port to filesystems."""

    async def ids(self, owner: str, names: Sequence[str]) -> Mapping[str, str]:
        """Ids of filesystems by their names, as a user means them. Raises FilesystemNotFound."""

    async def require(self, owner: str, id_: str, *, write: bool) -> None:
        """Raises FilesystemNotFound or PermissionDenied, unless a user may use a filesystem so."""


class Traces(Protocol):
    """What else is kept of runs: artifacts, cached results."""

    async def used_by(self, view: View, run: str) -> Sequence[str]:
        """Runs that took results from a run."""

    async def forget(self, change: Change, runs: Sequence[str]) -> None:
        """Forgets all else that is kept of runs."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A node, and what it is a part of in its plan."""

    node: Node
    planned: Planned | None


class Showing(Protocol):
    """The port to what can be said of runs beside what is kept of them. Methods raise what the contract lists."""

    async def nodes(
        self, view: View, caller: Principal, run: str, chosen: NodeFilter, after: Place, limit: int
    ) -> Sequence[Shown]:
        """Nodes of a run in their order, those among them that have not begun, as far as they are known."""

    async def explained(self, view: View, caller: Principal, run: str, path: str) -> run_pb2.ExplainNodeResponse:
        """Why a node stands where it stands."""

    async def planned(self, owner: Owner, order: Order, plan: Plan) -> run_pb2.PlanRunResponse:
        """What a run would do."""

    async def drawn(self, view: View, caller: Principal, request: run_pb2.DrawRunRequest) -> str:
        """A drawing of a run."""
