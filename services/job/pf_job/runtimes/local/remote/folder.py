"""The folder of a mount, and who holds it: each replica that uses it has a shared lock, which ends with the replica."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

from paddleflow.mounted import NotMounted, Unanswered, ask_whoever_serves, is_held, is_mounted, take_away
from pf_job.runtimes.local.remote.domain import About

LOOK = 0.2
SERVED_WITHIN = 30.0
"""Seconds in which somebody serves a mount again whose client died."""
LEFT = ("stage", "aside", "uploads", "moves")
"""What a client keeps of what it has not uploaded."""
_GONE = ".gone"
"""What a folder is called while it is removed; one that a crash left is removed as any other."""
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class NoSuchFolder(OSError):
    """There is no such folder in what is mounted, or a link leads to it."""


@dataclass(frozen=True, slots=True)
class MountFolder:
    """What belongs to one mount. All of it blocks."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @property
    def place(self) -> Path:
        """Where it is mounted."""
        return self.path / "at"

    @property
    def state(self) -> Path:
        """Where its client keeps what the next one must know."""
        return self.path / "state"

    def make(self, about: About) -> None:
        for folder in (self.path.parent, self.path, self.place, self.state):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.lock.touch(0o600)
        (self.path / "about").write_text(json.dumps(asdict(about)))

    def about(self) -> About | None:
        """What is mounted there; None if a crash left nothing that could be."""
        try:
            return About(**json.loads((self.path / "about").read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def hold(self) -> int:
        """A handle with a shared lock. Raises OSError if it is being taken away."""
        return self._locked(fcntl.LOCK_SH)

    def claim(self) -> int | None:
        """A handle with the lock for oneself alone; None if somebody uses the mount, or it was taken away."""
        try:
            return self._locked(fcntl.LOCK_EX)
        except (BlockingIOError, FileNotFoundError):
            return None

    def is_held(self) -> bool:
        """Whether there is a mount, or one that is not over yet."""
        return is_held(self.state)

    def is_served(self) -> bool:
        """Whether somebody answers for the mount, also if one has just died and the next is about to begin.

        Raises SlowToAnswer.
        """
        deadline = time.monotonic() + SERVED_WITHIN
        while self.is_held() and time.monotonic() < deadline:
            # Otherwise it is one that was unmounted, and is still uploading.
            if is_mounted(self.place):
                with suppress(NotMounted):
                    ask_whoever_serves(self.state, self.place, "stats")
                    return True
            time.sleep(LOOK)
        return False

    def answers(self, patience: float) -> bool:
        """Whether somebody serves the mount, and says so in so many seconds."""
        try:
            ask_whoever_serves(self.state, self.place, "stats", patience=patience)
        except (NotMounted, Unanswered):
            return False
        return True

    def renew(self) -> None:
        """Whoever comes now sees what the server has now. Raises NotMounted and Unanswered."""
        ask_whoever_serves(self.state, self.place, "renew")

    def sync(self) -> str:
        """Has everything uploaded that was written; what is in the way, or nothing."""
        deadline = time.monotonic() + SERVED_WITHIN
        while self.is_held():
            try:
                ask_whoever_serves(self.state, self.place, "sync", patience=None)
            except Unanswered as problem:
                return problem.message
            except NotMounted:
                pass
            else:
                return ""
            if time.monotonic() > deadline:
                return "nobody serves the mount any more"
            time.sleep(LOOK)
        return ""

    def rescue(self, to: Path) -> Sequence[str]:
        """Moves what could not be uploaded out of the way of others; the names of these files."""
        aside = self.state / "aside"
        found = sorted(aside.iterdir()) if aside.exists() else []
        if found:
            to.mkdir(mode=0o700, parents=True, exist_ok=True)
        for each in found:
            # Another filesystem may have had one that is called so.
            numbered = (to / (f"{each.name}.{number}" if number else each.name) for number in count())
            each.rename(next(place for place in numbered if not place.exists()))
        return [each.name for each in found]

    def remove(self) -> bool:
        """Takes the mount away, and all that belongs to it; False if there is left what could not be uploaded.

        Raises StillMounted.
        """
        take_away(self.place, self.state)
        if any(_has_something(self.state / name) for name in LEFT):
            return False
        shutil.rmtree(self.state, ignore_errors=True)
        # Not what is below it, should something be mounted there after all.
        with suppress(FileNotFoundError):
            self.place.rmdir()
        # At once, lest somebody makes it anew meanwhile and has half of it taken away.
        gone = self.path.with_name(f"{self.name}{_GONE}")
        self.path.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
        return True

    @contextmanager
    def opened(self, sub_path: str) -> Iterator[int]:
        """A folder of what is mounted, found without following links. Raises OSError."""
        handle = os.open(self.place, _FOLDER)
        try:
            if os.fstat(handle).st_dev == self.path.stat().st_dev:
                raise OSError(errno.ENOTCONN, "nothing is mounted there any more", str(self.place))
            for part in [each for each in sub_path.split("/") if each not in ("", ".")]:
                inner = _inner(handle, part, sub_path)
                os.close(handle)
                handle = inner
            yield handle
        finally:
            os.close(handle)

    def _locked(self, how: int) -> int:
        handle = os.open(self.lock, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, how | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(handle), self.lock.stat()):
                raise BlockingIOError(errno.EAGAIN, "it is being taken away", str(self.path))
        except OSError:
            os.close(handle)
            raise
        return handle


def identity_of(handle: int) -> tuple[int, int]:
    """Device and inode of what is open."""
    found = os.fstat(handle)
    return found.st_dev, found.st_ino


def folders_in(mounts: Path) -> Sequence[MountFolder]:
    return [MountFolder(path) for path in sorted(mounts.iterdir())] if mounts.exists() else []


def _inner(folder: int, part: str, sub_path: str) -> int:
    try:
        handle = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        raise NoSuchFolder(f"it has no folder {sub_path!r}: make it first") from None
    if stat.S_ISDIR(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise NoSuchFolder(f"{sub_path!r} is no folder of it, or a link leads there")


def _has_something(folder: Path) -> bool:
    return folder.exists() and next(folder.iterdir(), None) is not None
