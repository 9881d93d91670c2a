"""Puts the parts of a mount together."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pf_backends.entries import Space, Upload
from pf_backends.port import Backend
from pf_fuse.fetching.fetcher import Fetcher
from pf_fuse.fetching.settings import FetchSettings
from pf_fuse.opening import page_cache
from pf_fuse.pages.cache import PageCache
from pf_fuse.porters.team import Team
from pf_fuse.settings import CarrySettings, MountSettings, SourceSettings
from pf_fuse.snapshots.index import Index
from pf_fuse.snapshots.loading import INDEX, Snapshot
from pf_fuse.staging.belonging import belong
from pf_fuse.staging.disk import sync_folder
from pf_fuse.staging.format import begin_in
from pf_fuse.staging.handing import Handing
from pf_fuse.staging.notes import Notes
from pf_fuse.staging.renaming import Move, Renamer
from pf_fuse.staging.staged import Stage
from pf_fuse.staging.uploading import Uploader
from pf_fuse.threads import crew
from pf_fuse.vfs.attributes import Look
from pf_fuse.vfs.bringing import Bringing
from pf_fuse.vfs.changing import Changing
from pf_fuse.vfs.extras import Extras
from pf_fuse.vfs.freshness import Freshness
from pf_fuse.vfs.journal import Journal, staged_paths
from pf_fuse.vfs.keeping import Keeping
from pf_fuse.vfs.left import LeftMoves
from pf_fuse.vfs.limiting import Limiting, kept_limits
from pf_fuse.vfs.looking import Looking
from pf_fuse.vfs.moves import Moves
from pf_fuse.vfs.nodes import Node, Nodes
from pf_fuse.vfs.owing import Bounds, Owing
from pf_fuse.vfs.patient import Patient
from pf_fuse.vfs.quota import Counter, Limits, Quota
from pf_fuse.vfs.reading import Reading
from pf_fuse.vfs.sessions import Sessions
from pf_fuse.vfs.settling import Settling
from pf_fuse.vfs.tree import Tree
from pf_fuse.vfs.vfs import Vfs
from pf_fuse.vfs.writing import Writing

_WORKERS = 32
"""Questions to the backend at once."""
_SENDERS = 8
"""Parts of files that are uploaded at once, and files of a folder that are copied at once."""
_PORTERS = 4
"""Processes that fetch small files, where nobody has said how many."""
_OPEN_SHARE = 4
"""One of so many files that this process may have open may be closed and not uploaded yet."""
_ASIDE = "aside"
"""Of the folder of a mount: what could not be uploaded."""
_QUOTA = "quota"
"""The same: what the filesystem allows by now."""
_LASTING = 30.0
"""Seconds; what lasts so long is still true when a file that was fetched early is opened."""
_DATASET_LASTS = 86_400.0
"""Seconds for which what lies in a dataset is taken for true."""


@dataclass(frozen=True, slots=True)
class Parts:
    """A mount before it is mounted."""

    operations: Vfs | Patient
    tree: Tree
    cache: PageCache
    fetcher: Fetcher
    limiting: Limiting
    owing: Owing | None


def compose(backend: Backend, settings: MountSettings, new_name: Callable[[], str], *, resumed: bool) -> Parts:
    """What answers the kernel, with what processes before have left in the folder of the mount.

    `resumed`: one of them has served the same mount.
    """
    folder = settings.state
    begin_in(folder)
    if not resumed:
        belong(folder, backend.address, folder / _ASIDE, new_name, staged_paths)
    cache = page_cache(settings.cache)
    workers = crew(_WORKERS, "ask")
    stage = Stage(folder / "stage", new_name, Handing(cache, backend.address, workers).end)
    journal = Journal(folder / "nodes", lasting=settings.writeback is not None)
    nodes = Nodes(journal, stage, resumed=resumed)
    lasts = _DATASET_LASTS if settings.dataset else settings.lasts
    tree = _tree(backend, settings, nodes, Freshness(lasts, lasts))
    team = _team(settings, backend, cache)
    fetcher = Fetcher(
        backend, cache, FetchSettings(memory=settings.cache.memory), tree, team, lasting=lasts >= _LASTING
    )
    sessions = Sessions(nodes, fetcher)
    quota = _quota(settings, folder / _QUOTA, resumed=resumed)
    counter = Counter(backend, tree, quota, rarely=not settings.writable)
    limiting = Limiting(quota, counter, folder / _QUOTA)

    def space() -> Space | None:
        counter.asked()
        return quota.space(backend.space()) if quota.limited else backend.space()

    looking = Looking(tree, workers, _look(settings), fetcher, space, lambda: settings.dataset and sessions.unasked)
    reading = Reading(tree, sessions, fetcher, workers, unasked=settings.dataset)
    keeping = Keeping(backend, tree, sessions)
    writing = changing = owing = None
    if settings.writable:
        parts = tree, looking, sessions, keeping, quota, workers
        writing, changing, owing = _writers(backend, settings, new_name, parts)
    limiting.begin()
    extras = Extras(backend, tree, keeping, writing.settle if writing else _settled, workers)

    def close() -> None:
        counter.end()
        if owing:
            owing.end()
        workers.shutdown(wait=False, cancel_futures=True)
        fetcher.end()
        cache.end()
        backend.close()

    vfs = Vfs(looking, reading, sessions, extras, writing, changing, close)
    return Parts(patient(vfs, tree, changing), tree, cache, fetcher, limiting, owing)


def _quota(settings: MountSettings, kept: Path, *, resumed: bool) -> Quota:
    """Which may have been told anew to the process before."""
    if not resumed:
        kept.unlink(missing_ok=True)
    told = settings.filesystem_quota
    of_place = kept_limits(kept) or Limits(told.bytes, told.files)
    return Quota(Limits(settings.quota, settings.quota_files), of_place)


def _look(settings: MountSettings) -> Look:
    return Look(
        settings.uid,
        settings.gid,
        time.time_ns(),
        settings.file_mode,
        settings.folder_mode,
        settings.owned,
        settings.shared,
    )


def _tree(backend: Backend, settings: MountSettings, nodes: Nodes, freshness: Freshness) -> Tree:
    """What is known without asking: of a snapshot all."""
    if not settings.snapshot:
        return Tree(backend, nodes, freshness, time.monotonic)
    index = Index(settings.state / INDEX)
    return Tree(Snapshot(index, backend.capabilities), nodes, freshness, time.monotonic, index.find)


def _team(settings: MountSettings, backend: Backend, cache: PageCache) -> Team | None:
    """Who brings small files, if each of them has to come from another machine."""
    usual = min(_PORTERS, (os.cpu_count() or 2) // 2)
    most = usual if settings.porters is None else settings.porters
    if settings.url.startswith("local:") or not most:
        return None
    source = SourceSettings(settings.url, settings.cache, settings.properties, settings.links, read_only=True)
    return Team(CarrySettings(source, settings.renewal), backend.address, cache, most)


def patient(vfs: Vfs, tree: Tree, changing: Changing | None) -> Vfs | Patient:
    """The operations, which bear that folders are renamed, also by a process before that has left them so in part."""
    if changing is None:
        return vfs
    left = changing.left()
    moves = Moves([move for _, move in left])
    return Patient(vfs, tree, moves, LeftMoves(left, moves, changing.go_on, vfs.upload_left) if left else None)


def _settled(_node: Node) -> None:
    """Nothing was written."""


def _writers(
    backend: Backend,
    settings: MountSettings,
    new_name: Callable[[], str],
    parts: tuple[Tree, Looking, Sessions, Keeping, Quota, ThreadPoolExecutor],
) -> tuple[Writing, Changing, Owing | None]:
    folder = settings.state
    tree, looking, sessions, keeping, quota, workers = parts
    senders = crew(_SENDERS, "send")
    uploader = Uploader(backend, Notes(folder / "uploads", Upload, new_name), senders)
    renamer = Renamer(backend, Notes(folder / "moves", Move, new_name, lasting=True), senders)
    uploader.clean()
    bringing = Bringing(tree, sessions)
    settling = Settling(tree, sessions, bringing, uploader, quota, aside=folder / _ASIDE)
    owing = None
    if settings.writeback is not None:
        sync_folder(folder)
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // _OPEN_SHARE
        owing = Owing(tree, sessions, settling, Bounds(settings.writeback, settings.writeback_age, files))
    can = backend.capabilities
    writing = Writing(tree, looking, sessions, bringing, settling, workers, can=can, quota=quota, owing=owing)
    return writing, Changing(backend, tree, looking, sessions, keeping, settling, writing, renamer, workers), owing
