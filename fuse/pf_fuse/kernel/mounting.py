"""Mounting: opens the device, puts the mount in its place, and takes it away.

Nothing here touches what is mounted, by which it would wait for whoever serves it: what is to be known of the mount,
the kernel's list of mounts says.
"""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from paddleflow.mountinfo import KIND, read_mounts
from pf_fuse.kernel import libc
from pf_fuse.kernel.features import Agreement, Feature
from pf_fuse.kernel.fusermount import mount_by_helper, unmount_by_helper
from pf_fuse.kernel.greeting import greet
from pf_fuse.kernel.libc import Mounting, Unmounting

DEVICE = "/dev/fuse"
READ_AHEAD_KB = 1024
MOST_LINKS = 40
ANSWERS_WITHIN = 5.0
"""Seconds after which a mount is taken for one that does not answer."""


class CannotMount(OSError):
    """The text says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MountOptions:
    """How something is mounted."""

    source: str = "paddleflow"
    """What `df` and `mount` call it."""
    read_only: bool = False
    others: bool = True
    """Other users may use it, as far as the permissions of files allow."""
    check_permissions: bool = True
    """The kernel checks the permissions of files."""
    over_files: bool = False
    """The folder may have something in it, which is hidden as long as the mount lasts."""
    read_ahead_kb: int = READ_AHEAD_KB

    def flags(self) -> Mounting:
        always = Mounting.NO_SETUID | Mounting.NO_DEVICES
        return always | Mounting.READ_ONLY if self.read_only else always

    def words(self, privileged: bool) -> list[str]:
        """Those that are neither flags nor numbers of this process."""
        words = ["default_permissions"] * self.check_permissions
        # Without privilege it takes `user_allow_other` in /etc/fuse.conf.
        return words + ["allow_other"] * (self.others and privileged)


def open_mount(place: Path, options: MountOptions) -> int:
    """A descriptor of the device by which the new mount at this place is served."""
    target = str(ready_place(place, options))
    device = _mount_as_root(target, options) if os.geteuid() == 0 else mount_by_helper(target, _helper_words(options))
    read_further(target, options.read_ahead_kb)
    return device


def begin_mount(
    place: Path, options: MountOptions, wanted: Feature, newest: int | None = None
) -> tuple[int, Agreement]:
    """A descriptor of the device, and what was agreed on with the kernel. See `greet`."""
    device = open_mount(place, options)
    try:
        return device, greet(device, wanted, newest)
    except OSError:
        os.close(device)
        close_mount(place, detach=True)
        raise


def ready_place(place: Path, options: MountOptions) -> Path:
    """The place without links, after a dead mount there is taken away."""
    target = _without_links(place)
    there = read_mounts().top(str(target))
    if there is not None and there.kind.startswith("fuse"):
        _take_away_if_dead(target)
    try:
        found = target.stat()
    except OSError as failure:
        raise _refusal(failure, f"{place} cannot be mounted at", "make the folder first") from failure
    if not stat.S_ISDIR(found.st_mode):
        raise CannotMount(errno.ENOTDIR, "this is no folder; mount at a folder that is empty", str(place))
    if read_mounts().top(str(target)) is not None:
        raise CannotMount(errno.EBUSY, "something is mounted here already; unmount it first", str(place))
    if not options.over_files and next(target.iterdir(), None) is not None:
        raise CannotMount(errno.ENOTEMPTY, "the folder is not empty; its files would be hidden", str(place))
    return target


def _without_links(place: Path) -> Path:
    """Without looking at what it leads to."""
    for _ in range(MOST_LINKS):
        place = place.parent.resolve() / place.name
        try:
            place = place.parent / place.readlink()
        except OSError:
            return place
    raise CannotMount(errno.ELOOP, "too many links lead from one to another", str(place))


def _take_away_if_dead(target: Path) -> None:
    """Another process looks: whoever looks at a mount that does not answer waits until he is killed."""
    command = ["stat", "--format=%F", str(target)]
    try:
        found = subprocess.run(command, capture_output=True, timeout=ANSWERS_WITHIN, check=False)
    except subprocess.TimeoutExpired as failure:
        todo = "a mount is here that does not answer; end its process, or detach it with `umount -l`"
        raise CannotMount(errno.EBUSY, todo, str(target)) from failure
    if found.returncode != 0:
        close_mount(target, detach=True)


def close_mount(place: Path, detach: bool = False) -> None:
    """Unmounts; `detach` frees the place at once, and what is open stays usable as long as it is served.

    EBUSY says that somebody works in it.
    """
    if os.geteuid() == 0:
        libc.unmount(str(place), Unmounting.NO_FOLLOW | (Unmounting.DETACH if detach else Unmounting.PLAIN))
    else:
        unmount_by_helper(str(place), detach)


def read_further(place: str, kilobytes: int) -> None:
    """How much the kernel reads ahead, which is also how much it asks for at once.

    It needs the rights of root and a writable /sys; without them requests are of 128 KiB.
    """
    with suppress(OSError):
        mount = read_mounts().top(place)
        if mount is not None:
            Path(f"/sys/class/bdi/{mount.device}/read_ahead_kb").write_text(str(kilobytes))


def read_ahead_of(place: str) -> int | None:
    """In KiB, as it is."""
    mount = read_mounts().top(place)
    if mount is None:
        return None
    try:
        return int(Path(f"/sys/class/bdi/{mount.device}/read_ahead_kb").read_text())
    except OSError:
        return None


def open_device() -> int:
    try:
        return os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
    except OSError as failure:
        todo = "load the module `fuse`, or give the container the device" if failure.errno == errno.ENOENT else ""
        raise _refusal(failure, f"{DEVICE} cannot be opened", todo or "run as root, or permit its use") from failure


def _mount_as_root(target: str, options: MountOptions) -> int:
    device = open_device()
    numbers = [f"fd={device}", "rootmode=40000", "user_id=0", "group_id=0"]
    words = ",".join(numbers + options.words(privileged=True))
    try:
        libc.mount(options.source, target, KIND, options.flags(), words)
    except OSError as failure:
        os.close(device)
        todo = "it takes CAP_SYS_ADMIN, also in a container"
        raise _refusal(failure, f"{target} cannot be mounted at", todo) from failure
    return device


def _helper_words(options: MountOptions) -> list[str]:
    source = options.source.replace("\\", "\\\\").replace(",", "\\,")
    named = [f"fsname={source}", f"subtype={KIND.partition('.')[2]}", "nosuid", "nodev"]
    return named + ["ro"] * options.read_only + options.words(privileged=False)


def _refusal(failure: OSError, what: str, todo: str) -> CannotMount:
    return CannotMount(failure.errno, f"{what}: {failure.strerror}; {todo}")
