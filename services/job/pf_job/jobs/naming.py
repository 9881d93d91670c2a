"""Looks up what a job names: its queue, flavours and filesystems. All that cannot be had is told at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from paddleflow.problems import FilesystemNotFound, InvalidArgument, Problem, Violation
from pf_job.jobs.ports import LASTING, Filesystems, QueueInfo, Queues
from pf_job.specs.defaults import filesystem_names, flavour_names, with_filesystems, with_flavours
from pf_job.specs.domain import DEFAULT_QUEUE, FilesystemMount, JobSpec, Work
from pf_kit.principal import Principal


@dataclass(frozen=True, slots=True)
class Named:
    """A job with all that it names known, and its queue."""

    spec: JobSpec
    queue: QueueInfo


@dataclass(slots=True)
class Refusals:
    """What those who keep things answer of them, each with the place in the document that names it."""

    found: list[tuple[str, Problem]] = field(default_factory=list)

    @contextmanager
    def noting(self, place: str) -> Iterator[None]:
        """Keeps an answer that is about the job, and goes on."""
        try:
            yield
        except LASTING as problem:
            self.found.append((place, problem))

    def require_none(self) -> None:
        """Raises the first with the words of all."""
        if not self.found:
            return
        words = list(dict.fromkeys(problem.message for _, problem in self.found))
        first = self.found[0][1]
        violations = tuple(Violation(place, problem.message) for place, problem in self.found)
        raise type(first)("; ".join(words), violations=first.violations or violations, metadata=first.metadata)


@dataclass(frozen=True, slots=True)
class Naming:
    """Asks those who keep queues, flavours and filesystems."""

    queues: Queues
    filesystems: Filesystems

    async def known(self, caller: Principal, spec: JobSpec) -> Named:
        """The job with what it names. Raises what their owners say of what cannot be had."""
        await self._require_clear(caller, spec)
        refusals = Refusals()
        infos = []
        with refusals.noting("schedulingPolicy.queue"):
            infos.append(await self.queues.queue(caller, spec.work.scheduling_policy.queue or DEFAULT_QUEUE))
        spec = await self._with_flavours(spec, refusals)
        spec = await self._with_filesystems(caller, spec, refusals)
        refusals.require_none()
        return Named(spec, infos[0])

    async def _with_flavours(self, spec: JobSpec, refusals: Refusals) -> JobSpec:
        amounts: dict[str, Mapping[str, int]] = {}
        for name in sorted(flavour_names(spec)):
            with refusals.noting(_flavour_place(spec, name)):
                amounts |= await self.queues.flavours([name])
        return with_flavours(spec, amounts) if amounts else spec

    async def _with_filesystems(self, caller: Principal, spec: JobSpec, refusals: Refusals) -> JobSpec:
        ids: dict[str, str] = {}
        for name in sorted(filesystem_names(spec)):
            with refusals.noting(next(place for place, mount in _mounts(spec) if mount.name == name)):
                ids |= await self.filesystems.ids(caller, [name])
        spec = with_filesystems(spec, ids) if ids else spec
        for place, mount in _mounts(spec):
            if mount.id:
                with refusals.noting(place):
                    await self.filesystems.require(caller, mount.id, write=not mount.read_only)
        return spec

    async def _require_clear(self, caller: Principal, spec: JobSpec) -> None:
        """Refuses mounts whose name is not that of their id. A name that is nobody's says nothing."""
        wrong: list[Violation] = []
        for place, mount in _mounts(spec):
            if mount.id and mount.name:
                with suppress(FilesystemNotFound):
                    named = (await self.filesystems.ids(caller, [mount.name]))[mount.name]
                    if named != mount.id:
                        words = f"its name is that of {named!r}, and not of {mount.id!r}; leave out one"
                        wrong.append(Violation(place, words))
        if wrong:
            raise InvalidArgument.of(*wrong)


def _flavour_place(spec: JobSpec, name: str) -> str:
    """The first that names it."""
    for place, work in _works(spec):
        if work.flavour.name == name:
            return f"{place}flavour.name"
        if work.limit_flavour.flavour.name == name:
            return f"{place}limitFlavour.name"
    return "flavour.name"


def _mounts(spec: JobSpec) -> Iterator[tuple[str, FilesystemMount]]:
    """All mounts, each with its place in the document."""
    for place, work in _works(spec):
        if work.fs:
            yield f"{place}fs", work.fs
        for at, mount in enumerate(work.extra_fs):
            yield f"{place}extraFS[{at}]", mount


def _works(spec: JobSpec) -> Iterator[tuple[str, Work]]:
    yield "", spec.work
    yield from ((f"members[{at}].", member.work) for at, member in enumerate(spec.members))
