"""A backend in some of whose folders the files of other backends are."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pf_backends.entries import Capabilities, Condition, Entry, Facts, Kind, Page, Part, Parts, Renames, Space, Upload
from pf_backends.errors import failure
from pf_backends.paths import encoded
from pf_backends.port import ANYTHING, NO_FACTS, Backend

_RENAMES = (Renames.NOTHING, Renames.FILES, Renames.TREES)
"""The least first."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a path leads: into which backend, by which path there, and what comes before that here."""

    backend: Backend
    path: str
    before: str

    def here(self, path: str) -> str:
        return "/".join(part for part in (self.before, path) if part)

    def shown(self, entry: Entry) -> Entry:
        return replace(entry, path=self.here(entry.path)) if self.before else entry


class LinkedBackend:
    """Fulfils `Backend` and `Manifold`.

    None of the folders lies in another one; each hides what the backend itself has there.
    """

    def __init__(self, main: Backend, links: Mapping[str, Backend]) -> None:
        self._main = main
        self._links = dict(links)
        able = reduce(_less, (each.capabilities for each in links.values()), main.capabilities)
        self._capabilities = replace(able, longest=_longest(main, links))

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    def capabilities_at(self, path: str) -> Capabilities:
        return self._at(path).backend.capabilities

    @property
    def address(self) -> str:
        links = ",".join(f"{path}={backend.address}" for path, backend in sorted(self._links.items()))
        return f"{self._main.address}[{links}]"

    def check(self) -> None:
        for backend in (self._main, *self._links.values()):
            backend.check()

    def close(self) -> None:
        for backend in (self._main, *self._links.values()):
            backend.close()

    def stat(self, path: str) -> Entry:
        if path not in self._links and any(link.startswith(f"{path}/") for link in self._links):
            return Entry(path, Kind.FOLDER)
        place = self._at(path)
        return place.shown(place.backend.stat(place.path))

    def list(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page:
        place = self._at(folder)
        hidden = set(self._above(folder))
        try:
            page = place.backend.list(place.path, rest=rest, limit=limit)
        except FileNotFoundError:
            if not hidden:
                raise
            page = Page(())
        entries = [entry for entry in map(place.shown, page.entries) if entry.path not in hidden]
        if not page.rest:
            entries += [Entry(link, Kind.FOLDER) for link in sorted(hidden)]
        return Page(entries, page.rest)

    def walk(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page:
        """Of what asks for the next page the first part is the number of the backend, in the order of their folders."""
        places = [self._at(folder), *(self._at(link) for link in sorted(self._links) if _within(link, folder))]
        number, _, more = rest.partition("/")
        at = int(number or 0)
        place = places[at]
        page = place.backend.walk(place.path, rest=more, limit=limit)
        entries = [entry for entry in map(place.shown, page.entries) if at or not self._is_hidden(entry.path, place)]
        if page.rest:
            return Page(entries, f"{at}/{page.rest}")
        return Page(entries, f"{at + 1}/" if at + 1 < len(places) else "")

    def read(self, path: str, offset: int, into: memoryview, *, version: str = "") -> int:
        place = self._at(path)
        return place.backend.read(place.path, offset, into, version=version)

    def fetch(self, path: str, *, limit: int) -> tuple[Entry, bytes]:
        place = self._at(path)
        entry, data = place.backend.fetch(place.path, limit=limit)
        return place.shown(entry), data

    def put(
        self, path: str, body: memoryview | bytes, *, facts: Facts = NO_FACTS, condition: Condition = ANYTHING
    ) -> Entry:
        place = self._at(path)
        return place.shown(place.backend.put(place.path, body, facts=facts, condition=condition))

    def begin(self, path: str, *, facts: Facts = NO_FACTS) -> Upload:
        place = self._at(path)
        return replace(place.backend.begin(place.path, facts=facts), path=path)

    def send(self, upload: Upload, number: int, body: memoryview | bytes) -> Part:
        place = self._at(upload.path)
        return place.backend.send(replace(upload, path=place.path), number, body)

    def finish(self, upload: Upload, parts: Sequence[Part], *, condition: Condition = ANYTHING) -> Entry:
        place = self._at(upload.path)
        return place.shown(place.backend.finish(replace(upload, path=place.path), parts, condition=condition))

    def drop(self, upload: Upload) -> None:
        place = self._at(upload.path)
        place.backend.drop(replace(upload, path=place.path))

    def uploads(self, folder: str) -> Sequence[Upload]:
        places = [self._at(folder), *(self._at(link) for link in self._links if _within(link, folder))]
        found = [
            replace(upload, path=place.here(upload.path))
            for place in places
            for upload in place.backend.uploads(place.path)
        ]
        return sorted(found, key=lambda upload: upload.begun)

    def append(self, path: str, body: memoryview | bytes, *, offset: int) -> Entry:
        place = self._at(path)
        return place.shown(place.backend.append(place.path, body, offset=offset))

    def make_folder(self, path: str, *, facts: Facts = NO_FACTS) -> Entry:
        return self._made(path, lambda backend, inner: backend.make_folder(inner, facts=facts))

    def make_link(self, path: str, target: str) -> Entry:
        return self._made(path, lambda backend, inner: backend.make_link(inner, target))

    def set_facts(self, path: str, facts: Facts, *, condition: Condition = ANYTHING) -> Entry:
        place = self._at(path)
        return place.shown(place.backend.set_facts(place.path, facts, condition=condition))

    def attributes(self, path: str) -> Facts:
        place = self._at(path)
        return place.backend.attributes(place.path)

    def remove(self, path: str, *, condition: Condition = ANYTHING) -> None:
        place = self._at(path)
        place.backend.remove(place.path, condition=condition)

    def remove_many(self, paths: Sequence[str]) -> Sequence[OSError | None]:
        answers: dict[str, OSError | None] = {}
        for before in {self._at(path).before for path in paths}:
            mine = [place for place in map(self._at, paths) if place.before == before]
            found = mine[0].backend.remove_many([place.path for place in mine])
            answers |= {place.here(place.path): error for place, error in zip(mine, found, strict=True)}
        return [answers[path] for path in paths]

    def remove_folder(self, path: str) -> None:
        self._require_no_link(path)
        place = self._at(path)
        place.backend.remove_folder(place.path)

    def rename(self, source: str, target: str, *, replace: bool = True) -> None:
        self.require_renamable(source, target)
        old, new = self._at(source), self._at(target)
        old.backend.rename(old.path, new.path, replace=replace)

    def require_renamable(self, source: str, target: str) -> None:
        for path in (source, target):
            self._require_no_link(path)
        if self._at(source).before != self._at(target).before:
            raise failure(errno.EXDEV, target, "it lies in another backend; copy and remove")

    def copy(self, source: str, target: str, *, condition: Condition = ANYTHING) -> Entry:
        old, new = self._at(source), self._at(target)
        if old.before != new.before:
            raise failure(errno.EXDEV, target, "it lies in another backend; read and write it")
        return new.shown(old.backend.copy(old.path, new.path, condition=condition))

    def space(self) -> Space | None:
        return self._main.space()

    def _at(self, path: str) -> _Place:
        for link, backend in self._links.items():
            if path == link or path.startswith(f"{link}/"):
                return _Place(backend, path[len(link) + 1 :], link)
        return _Place(self._main, path, "")

    def _above(self, folder: str) -> Sequence[str]:
        """What leads to links among the things of a folder."""
        start = f"{folder}/" if folder else ""
        found = {
            start + link[len(start) :].partition("/")[0]
            for link in self._links
            if link.startswith(start) and link != folder
        }
        return sorted(found)

    def _is_hidden(self, path: str, place: _Place) -> bool:
        return not place.before and any(_within(path, link) or path == link for link in self._links)

    def _made(self, path: str, make: Callable[[Backend, str], Entry]) -> Entry:
        if path in self._links:
            raise failure(errno.EEXIST, path, "the files of another place are there")
        place = self._at(path)
        return place.shown(make(place.backend, place.path))

    def _require_no_link(self, path: str) -> None:
        if any(link == path or _within(link, path) for link in self._links):
            raise failure(errno.EBUSY, path, "the files of another place are in it; unlink that first")


def _within(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/") if folder else bool(path)


def _less(one: Capabilities, other: Capabilities) -> Capabilities:
    """What both can do."""
    return Capabilities(
        conditional=one.conditional and other.conditional,
        renames=min(one.renames, other.renames, key=_RENAMES.index),
        copies=one.copies and other.copies,
        appends=one.appends and other.appends,
        parts=_fewer(one.parts, other.parts),
        most_put=min((each for each in (one.most_put, other.most_put) if each is not None), default=None),
        ordered=False,
        deep=one.deep and other.deep,
        folders=one.folders and other.folders,
        links=one.links and other.links,
        modes=one.modes and other.modes,
        owners=one.owners and other.owners,
        attributes=one.attributes and other.attributes,
        byte_names=one.byte_names and other.byte_names,
        precision=max(one.precision, other.precision),
    )


def _longest(main: Backend, links: Mapping[str, Backend]) -> int | None:
    """What some place takes is not refused for all; what is too long for the one where it lies, that one tells."""
    longest = main.capabilities.longest
    for link, backend in links.items():
        within = backend.capabilities.longest
        longest = None if longest is None or within is None else max(longest, len(encoded(f"{link}/")) + within)
    return longest


def _fewer(one: Parts | None, other: Parts | None) -> Parts | None:
    if one is None or other is None:
        return None
    return Parts(max(one.least, other.least), min(one.most, other.most), min(one.count, other.count))
