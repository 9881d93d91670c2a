"""Mounting a filesystem on this machine: what `pf-fuse` is told, and starting it.

The program belongs to the server's distribution, as it needs what speaks to object stores; the client only starts it.
Secrets go to its standard input, and nowhere else.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

from paddleflow.models.mounts import LocalFolder, MountDescription, RemoteFolder
from paddleflow.problems import FailedPrecondition

PROGRAM = "pf-fuse"
READY = b"ready\n"
LOG = "log"
ABOUT = "about"
"""The file that says what a folder of a mount is about, without secrets."""
_LAST_LINES = 5


class CannotMount(FailedPrecondition):
    """There is no mount; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class MountOptions:
    """How somebody wants a filesystem mounted."""

    read_only: bool = False
    dataset: bool = False
    """Nobody changes what lies there as long as it is mounted."""
    snapshot: str = ""
    """Of the dataset: a file of this machine, or after a colon one of the filesystem; empty: its server is asked."""
    cache_folders: Sequence[Path] = ()
    """None: a folder of the user's."""
    cache_size: int | None = None
    """In bytes; None: what the disks have room for."""
    more: Mapping[str, object] = field(default_factory=dict)
    """Settings of `pf-fuse` by their names, for example ``lasts``."""


def state_folder(place: Path, environ: Mapping[str, str]) -> Path:
    """Where a mount at this place keeps what the next one must know; only its user may read it."""
    name = blake2b(os.fsencode(place), digest_size=10).hexdigest()
    return state_folders(environ) / name


def state_folders(environ: Mapping[str, str]) -> Path:
    """Holds those of all mounts of the user."""
    return _own(environ) / "mounts"


def settings_of(
    description: MountDescription, place: Path, options: MountOptions, environ: Mapping[str, str]
) -> Mapping[str, Any]:
    """What `pf-fuse` is told."""
    return {
        "place": str(place),
        **source_of(description, options, environ),
        "state": str(state_folder(place, environ)),
        "filesystemQuota": limits(description.quota.bytes, description.quota.files),
        "dataset": options.dataset,
        "snapshot": options.snapshot,
        "uid": os.getuid(),
        "gid": os.getgid(),
        "source": f"paddleflow:{description.filesystem_id}",
        **options.more,
    }


def source_of(description: MountDescription, options: MountOptions, environ: Mapping[str, str]) -> Mapping[str, Any]:
    """What opens the files of a filesystem, mounted or not, and where what is read of them is kept."""
    cache = description.cache
    return {
        **_source(description.source),
        "links": [{"path": path, **_source(source)} for path, source in description.links.items()],
        "cache": {
            "folders": [str(folder) for folder in options.cache_folders or cache.folders or [own_pages(environ)]],
            "size": options.cache_size or cache.size or None,
        },
        "readOnly": options.read_only or description.read_only,
    }


def limits(size: int, files: int) -> Mapping[str, int | None]:
    """A quota of a filesystem, where 0 is any amount, as those are told who serve its mounts."""
    return {"bytes": size or None, "files": files or None}


def own_pages(environ: Mapping[str, str]) -> Path:
    """Where the cache is if nobody says where."""
    return _own(environ) / "pages"


Begin = Callable[[Sequence[int]], None]
"""Begins a process of `PROGRAM` that outlives the caller: what it is told, what it says, and its complaints."""


def start(
    settings: Mapping[str, Any],
    environ: Mapping[str, str],
    *,
    patience: float | None = None,
    begin: Begin | None = None,
) -> None:
    """Starts a mount that outlives the caller, and returns when it can be used; CannotMount if that fails.

    It gets this environment, unless something else is to `begin` it. With `patience` it fails after so many seconds;
    the mount may be there later all the same.
    """
    begin = begin or partial(_spawn, program(), environ)
    state = Path(settings["state"])
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    make_folders(settings)
    about = {"place": settings["place"], "url": settings["url"], "source": settings["source"]}
    (state / ABOUT).write_text(json.dumps(about))
    log = state / LOG
    reader, writer = os.pipe2(os.O_CLOEXEC)
    with os.fdopen(reader, "rb") as said, log.open("wb") as errors, _in_memory(json.dumps(settings).encode()) as told:
        try:
            begin((told, writer, errors.fileno()))
        finally:
            os.close(writer)
        if not _is_heard(said, patience):
            raise CannotMount(f"it is not there after {patience or 0:.0f} s; see {log}")
        if said.readline() != READY:
            raise CannotMount(_why(log))


def make_folders(source: Mapping[str, Any]) -> None:
    """Those of its cache."""
    for folder in source["cache"]["folders"]:
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)


def run_errand(name: str, told: Mapping[str, Any]) -> Generator[Mapping[str, Any], None, None]:
    """Has the program do something, and gives what it tells meanwhile; to close it ends it. CannotMount if it fails."""
    with _in_memory(json.dumps(told).encode()) as asked, tempfile.TemporaryFile() as errors:
        doing = subprocess.Popen([program(), name], stdin=asked, stdout=subprocess.PIPE, stderr=errors)
        try:
            with doing.stdout or nullcontext(()) as reports:
                yield from map(json.loads, reports)
        except BaseException:
            doing.terminate()
            raise
        finally:
            failed = doing.wait()
        if failed:
            errors.seek(0)
            words = errors.read().decode(errors="replace")
            raise CannotMount(_last_words(words) if words else f"{PROGRAM} {name} {_end(failed)} before it was done")


def _spawn(path: str, environ: Mapping[str, str], streams: Sequence[int]) -> None:
    """A process of its own session, which goes on when the caller's ends, and of which the caller needs not know."""
    actions = [(os.POSIX_SPAWN_DUP2, each, place) for place, each in enumerate(streams)]
    pid = os.posix_spawn(path, [path, "--background"], environ, file_actions=actions, setsid=True)
    os.waitpid(pid, 0)


def _is_heard(said: IO[bytes], patience: float | None) -> bool:
    """Whether there is something to read, or the end, in so many seconds."""
    saying = select.poll()
    saying.register(said, select.POLLIN)
    return bool(saying.poll(None if patience is None else 1000 * patience))


def _source(source: LocalFolder | RemoteFolder) -> Mapping[str, Any]:
    match source:
        case LocalFolder(path=path):
            return {"url": f"local://{path}", "properties": {}}
        case RemoteFolder(url=url, properties=properties, secrets=secrets):
            return {"url": url, "properties": {**properties, **secrets}}


def program() -> str:
    """The program beside this one, or on the path."""
    beside = Path(sys.executable).with_name(PROGRAM)
    found = str(beside) if beside.exists() else shutil.which(PROGRAM)
    if found is None:
        raise CannotMount(
            f"the program {PROGRAM} is not installed: pip install 'paddleflow-server[fuse]' on this machine"
        )
    return found


@contextmanager
def _in_memory(data: bytes) -> Iterator[int]:
    """A file with the data that has no name."""
    descriptor = os.memfd_create("settings")
    try:
        os.write(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def _why(log: Path) -> str:
    return _last_words(log.read_text(errors="replace"))


def _end(status: int) -> str:
    return f"ended with status {status}" if status > 0 else f"was killed by signal {-status}"


def _last_words(text: str) -> str:
    lines = text.splitlines()[-_LAST_LINES:]
    return "\n".join(lines).removeprefix(f"{PROGRAM}: ") or f"{PROGRAM} ended without a word"


def _own(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paddleflow"
