"""What artifacts were made from, and what was made with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pf_kit.unit import View
from pf_pipeline.artifacts.domain import ArtifactEvent, NodeKey, Place, Use
from pf_pipeline.artifacts.store import ArtifactStore
from pf_pipeline.owners import Owner

MOST_LINKS = 1000
"""Each way."""


@dataclass(frozen=True, slots=True)
class Link:
    """One step between artifacts."""

    by: NodeKey
    input_path: str
    """Empty if the step read none."""
    output_path: str
    """Empty if it wrote none."""
    distance: int
    cached: bool


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where an artifact comes from and what became of it."""

    made_from: Sequence[Link]
    made_into: Sequence[Link]
    truncated: bool


@dataclass(slots=True)
class Tracing:
    """Follows links one way, step by step, the nearest first. Each artifact is followed once."""

    start: Place
    use: Use
    """Of the artifact that is followed: OUTPUT leads back, INPUT on."""
    links: list[Link] = field(default_factory=list)
    truncated: bool = False
    _seen: set[Place] = field(default_factory=set)

    async def go(self, store: ArtifactStore, view: View, seen_by: Owner | None, depth: int) -> None:
        """So many steps, along events that a user may see."""
        frontier = [self.start]
        for distance in range(1, depth + 1):
            self._seen.update(frontier)
            near = await store.events_at(view, frontier, self.use, seen_by, MOST_LINKS + 1)
            far = await store.events_of(view, [event.key for event in near], _other(self.use))
            frontier = self._step(frontier, near[:MOST_LINKS], far, distance)
            self.truncated = self.truncated or len(near) > MOST_LINKS
            if not frontier or self.truncated:
                return

    def _step(
        self, frontier: Sequence[Place], near: Sequence[ArtifactEvent], far: Sequence[ArtifactEvent], distance: int
    ) -> list[Place]:
        """Notes the links, and returns what to follow next."""
        following: dict[Place, None] = {}
        for followed, event, place in _pairs(set(frontier), near, far):
            if len(self.links) == MOST_LINKS:
                self.truncated = True
                return []
            self.links.append(self._link(followed, event, place, distance))
            if place is not None and place not in self._seen:
                following[place] = None
        return list(following)

    def _link(self, followed: str, event: ArtifactEvent, place: Place | None, distance: int) -> Link:
        other = place.path if place else ""
        read, written = (other, followed) if self.use is Use.OUTPUT else (followed, other)
        return Link(event.key, read, written, distance, event.cached)


async def trace(store: ArtifactStore, view: View, start: Place, seen_by: Owner | None, depth: int) -> Lineage:
    """All links of an artifact, both ways."""
    back, on = Tracing(start, Use.OUTPUT), Tracing(start, Use.INPUT)
    for each in (back, on):
        await each.go(store, view, seen_by, depth)
    return Lineage(back.links, on.links, back.truncated or on.truncated)


def _other(use: Use) -> Use:
    return Use.INPUT if use is Use.OUTPUT else Use.OUTPUT


def _pairs(
    frontier: set[Place], near: Sequence[ArtifactEvent], far: Sequence[ArtifactEvent]
) -> Iterator[tuple[str, ArtifactEvent, Place | None]]:
    """Each path that is followed, with each artifact at the other end of its step; None where there is none."""
    ends: dict[NodeKey, list[Place]] = {}
    for event in far:
        ends.setdefault(event.key, []).extend(Place(event.filesystem_id, path) for path in event.paths)
    for event in near:
        for path in event.paths:
            if Place(event.filesystem_id, path) in frontier:
                for place in ends.get(event.key, [None]):
                    yield path, event, place
