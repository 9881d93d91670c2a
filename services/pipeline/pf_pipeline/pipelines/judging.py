"""Whether a document can be a pipeline, and whether it could run.

Documents may be large: looking at them takes a thread, so that other calls go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass

from paddleflow.problems import FilesystemAmbiguous, FilesystemNotFound, FilesystemNotGranted
from paddleflow.problems import Problem as Refused
from pf_kit.fields import require
from pf_kit.unit import View
from pf_pipeline.documents.findings import Finding, Path, Problem, located
from pf_pipeline.documents.model import Dag, Document, Mount, Node, Step
from pf_pipeline.documents.reading import Reading, read
from pf_pipeline.documents.writing import digest
from pf_pipeline.owners import Owner
from pf_pipeline.pipelines.domain import description_violations
from pf_pipeline.pipelines.ports import Filesystems
from pf_pipeline.pipelines.sources import Documents, Source
from pf_pipeline.plans.domain import Plan
from pf_pipeline.plans.planning import examined, plan
from pf_pipeline.plans.requests import Given, Request

__all__ = ["Judged", "Judging", "Refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A document that can be a pipeline."""

    text: str
    name: str
    description: str
    digest: str
    filesystem: str
    path: str


class Judging:
    """Looks at documents."""

    def __init__(self, *, documents: Documents, filesystems: Filesystems) -> None:
        self._documents = documents
        self._filesystems = filesystems

    async def judge(self, view: View, owner: Owner, source: Source) -> Judged | Refused:
        """The document as a pipeline of a user, or why it cannot be one.

        Its main filesystem must be there; queues, flavours, images and other filesystems need not. The one of the
        source only says where the file is. Other services are asked before the change, which must not wait for them.
        """
        try:
            found = await self._documents.read(view, owner, source)
            reading = await asyncio.to_thread(_planned, found.text)
            require(description_violations("source.document.desc", reading.document.description))
            filesystem = reading.document.main_fs.name if reading.document.main_fs else ""
            if filesystem:
                await self._filesystems.find(owner.name, filesystem)
        except Refused as problem:
            return problem
        return Judged(
            text=found.text,
            name=reading.document.name,
            description=reading.document.description,
            digest=digest(reading.document),
            filesystem=filesystem,
            path=found.path,
        )

    async def problems(self, view: View, user: Owner, source: Source, *, pipeline_only: bool) -> Sequence[Problem]:
        """All that is wrong with a document. Raises only if it cannot be read."""
        found = await self._documents.read(view, user, source)
        reading = await asyncio.to_thread(read, found.text)
        request = Request(filesystem="" if pipeline_only else source.filesystem)
        document, problems = await asyncio.to_thread(examined, reading, request)
        mounts = _main(document) if pipeline_only else {**_main(document), **extra_of(document)}
        missing = located(reading.tree, [finding async for finding in self._missing(user.name, mounts)])
        return sorted({*problems, *missing}, key=lambda problem: (problem.place, problem.path, problem.message))

    async def plan(self, view: View, user: Owner, source: Source, parameters: Mapping[str, Given]) -> Plan:
        """What a run of the document would do. Raises DocumentInvalid, and what prevents it from being read."""
        found = await self._documents.read(view, user, source)
        request = Request(filesystem=source.filesystem, parameters=parameters)
        return await asyncio.to_thread(lambda: plan(read(found.text), request))

    async def _missing(self, user: str, mounts: Mapping[Path, Mount]) -> AsyncIterator[Finding]:
        known: dict[str, str] = {}
        for path, mount in mounts.items():
            if mount.name not in known:
                known[mount.name] = await self._fault(user, mount.name)
            if known[mount.name]:
                yield Finding((*path, "name"), known[mount.name])

    async def _fault(self, user: str, name: str) -> str:
        """Why a user cannot have a filesystem; empty if it can."""
        try:
            await self._filesystems.find(user, name)
        except (FilesystemNotFound, FilesystemNotGranted, FilesystemAmbiguous) as problem:
            return str(problem)
        return ""


def _planned(text: str) -> Reading:
    """What a text says. Raises DocumentInvalid if it cannot be a pipeline."""
    reading = read(text)
    plan(reading, Request())
    return reading


def _main(document: Document) -> Mapping[Path, Mount]:
    main = document.main_fs
    return {("fs_options", "main_fs"): main} if main and main.name else {}


def extra_of(document: Document) -> Mapping[Path, Mount]:
    """The filesystems that steps see beside the main one, by where the document names them."""
    handlers = {name: handler.step for name, handler in document.on_exit.items()}
    found = dict(_numbered(("fs_options", "extra_fs"), document.extra_fs))
    for part, nodes in (
        ("entry_points", document.entry_points),
        ("post_process", document.post_process),
        ("on_exit", handlers),
    ):
        found.update(_of_nodes((part,), nodes))
    return found


def _of_nodes(path: Path, nodes: Mapping[str, Node]) -> Iterator[tuple[Path, Mount]]:
    for name, node in nodes.items():
        match node:
            case Step():
                yield from _numbered((*path, name, "extra_fs"), node.extra_fs)
            case Dag():
                yield from _of_nodes((*path, name, "entry_points"), node.children)


def _numbered(path: Path, mounts: Sequence[Mount]) -> Iterator[tuple[Path, Mount]]:
    return (((*path, at), mount) for at, mount in enumerate(mounts) if mount.name)
