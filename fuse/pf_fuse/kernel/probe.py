"""What this machine allows a mount to use, and why not where it does not: a value for whoever looks at a mount."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pf_fuse.kernel.backing import Registry
from pf_fuse.kernel.features import LINUX, SINCE, Agreement, Feature
from pf_fuse.kernel.fusermount import PROGRAM
from pf_fuse.kernel.mounting import DEVICE, READ_AHEAD_KB, read_ahead_of


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that makes mounts fast or lasting."""

    name: str
    usable: bool
    why: str
    """What it is good for, or why it cannot be used and what would help."""


@dataclass(frozen=True, slots=True)
class Findings:
    """All that was found of a mount."""

    linux: str
    """The kernel's version."""
    protocol: str
    things: tuple[Finding, ...]

    def row(self) -> dict[str, object]:
        """For a document."""
        found = {thing.name: {"usable": thing.usable, "why": thing.why} for thing in self.things}
        return {"transport": "kernel", "linux": self.linux, "protocol": self.protocol, "features": found}


GOOD_FOR = {
    Feature.PASSTHROUGH: "the kernel can read cached files by itself",
    Feature.RESEND: "a new process goes on where one was killed, without an error",
    Feature.NO_OPEN: "files of unchanging datasets are opened without a message",
    Feature.NO_OPENDIR: "folders of unchanging datasets are listed without a message",
    Feature.READDIRPLUS: "attributes come with the list of a folder",
    Feature.MAX_PAGES: "requests are as large as a MiB",
    Feature.DIRECT_IO_MMAP: "files that are not yet cached can be mapped into memory",
    Feature.EXPIRE_ONLY: "changed names are asked for anew without disturbing who uses them",
}
ADVICE = {
    errno.EPERM: "registering files takes CAP_SYS_ADMIN; have a holder with that right do it",
    errno.ELOOP: "it lies on a filesystem that is itself stacked, such as overlayfs; put it on a disk of the node",
    errno.EOPNOTSUPP: "the filesystem it lies on cannot be read by the kernel itself",
    errno.ENOSYS: "the kernel does not know how",
    errno.ENOTTY: "the kernel does not know how",
}


def look_at(agreement: Agreement, place: str, registry: Registry | None, cached: Sequence[Path]) -> Findings:
    """What a mount uses; `cached` are the folders in which it keeps files."""
    things = [of_feature(feature, agreement) for feature in GOOD_FOR]
    things += [of_flushes(agreement), of_read_ahead(read_ahead_of(place))]
    if Feature.PASSTHROUGH in agreement.features:
        things += [of_cache(folder, registry) for folder in cached]
    return Findings(os.uname().release, f"7.{agreement.minor}", tuple(things))


def of_feature(feature: Feature, agreement: Agreement) -> Finding:
    name = str(feature.name).lower()
    if feature in agreement.features:
        return Finding(name, True, GOOD_FOR[feature])
    since = SINCE.get(feature, 0)
    if agreement.minor < since:
        return Finding(name, False, f"it takes Linux {linux_of(since)}")
    return Finding(name, False, "this kernel does not offer it, or it was not wanted")


def linux_of(minor: int) -> str:
    """The oldest kernel that speaks this version of the protocol."""
    return next(linux for linux, spoken in LINUX.items() if spoken >= minor)


def of_flushes(agreement: Agreement) -> Finding:
    if agreement.no_flush:
        return Finding("no_flush", True, "closing a file that is only read costs no message")
    return Finding("no_flush", False, "it takes Linux 5.16")


def of_read_ahead(kilobytes: int | None) -> Finding:
    if kilobytes is None:
        return Finding("read_ahead", False, "the kernel does not say how far it reads ahead; is /sys mounted?")
    if kilobytes >= READ_AHEAD_KB:
        return Finding("read_ahead", True, f"the kernel asks for up to {kilobytes} KiB at once")
    why = f"the kernel asks for {kilobytes} KiB at once; {READ_AHEAD_KB} take the rights of root and a writable /sys"
    return Finding("read_ahead", False, why)


def of_cache(folder: Path, registry: Registry | None) -> Finding:
    """Whether the kernel reads files of this folder by itself: it is tried with a new file."""
    name = f"passthrough:{folder}"
    if registry is None:
        return Finding(name, False, ADVICE[errno.EPERM])
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            registry.unregister(registry.register(file.fileno()))
    except OSError as failure:
        number = failure.errno or errno.EIO
        return Finding(name, False, ADVICE.get(number, os.strerror(number)))
    return Finding(name, True, "files here are read by the kernel itself once they are complete")


def why_not() -> str:
    """Why nothing can be mounted here, and what would help; empty if it can."""
    if not Path(DEVICE).exists():
        return f"there is no {DEVICE}; load the module `fuse`, or give the container the device"
    try:
        os.close(os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC))
    except OSError as failure:
        return f"{DEVICE} cannot be opened: {failure.strerror}; permit its use"
    if os.geteuid() != 0 and shutil.which(PROGRAM) is None:
        return f"mounting takes root, or the program {PROGRAM} of the package fuse3"
    return ""
