"""What kernel and filesystem agree on before all else: a pure function of what each of them wants."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntFlag

from pf_fuse.kernel.wire import INIT_IN, INIT_OUT, MAJOR, MINOR, OLDEST_MINOR

MIB = 1 << 20
PAGE = 4096
LARGEST = MIB
"""Bytes of a read or write. Larger ones gain nothing: measured up to 4 MiB."""
READ_AHEAD = 16 * MIB
"""At most; how much it is, `/sys/class/bdi` says."""
BACKGROUND = 64
CONGESTED = 48


class Feature(IntFlag):
    """What a kernel can do, and what of it is used."""

    ASYNC_READ = 1 << 0
    POSIX_LOCKS = 1 << 1
    ATOMIC_O_TRUNC = 1 << 3
    BIG_WRITES = 1 << 5
    FLOCK_LOCKS = 1 << 10
    AUTO_INVAL_DATA = 1 << 12
    READDIRPLUS = 1 << 13
    ASYNC_DIO = 1 << 15
    WRITEBACK_CACHE = 1 << 16
    NO_OPEN = 1 << 17
    PARALLEL_DIROPS = 1 << 18
    ABORT_ERROR = 1 << 21
    MAX_PAGES = 1 << 22
    CACHE_SYMLINKS = 1 << 23
    NO_OPENDIR = 1 << 24
    EXTENDED = 1 << 30
    """Features beyond 32 bits are told."""
    EXPIRE_ONLY = 1 << 35
    DIRECT_IO_MMAP = 1 << 36
    PASSTHROUGH = 1 << 37
    RESEND = 1 << 39


SINCE = {
    Feature.EXTENDED: 36,
    Feature.EXPIRE_ONLY: 38,
    Feature.DIRECT_IO_MMAP: 39,
    Feature.PASSTHROUGH: 40,
    Feature.RESEND: 40,
}
"""The minor version of the protocol from which on a kernel may have it, where that is newer than the oldest."""
NO_FLUSH_SINCE = 35

LINUX = {"5.4": 31, "5.10": 32, "5.15": 34, "6.1": 37, "6.2": 38, "6.6": 39, "6.9": 40}
"""The minor version of the protocol that kernels speak."""

USUAL = (
    Feature.ASYNC_READ
    | Feature.ATOMIC_O_TRUNC
    | Feature.BIG_WRITES
    | Feature.AUTO_INVAL_DATA
    | Feature.READDIRPLUS
    | Feature.ASYNC_DIO
    | Feature.NO_OPEN
    | Feature.PARALLEL_DIROPS
    | Feature.MAX_PAGES
    | Feature.CACHE_SYMLINKS
    | Feature.NO_OPENDIR
    | Feature.EXTENDED
    | Feature.EXPIRE_ONLY
    | Feature.DIRECT_IO_MMAP
    | Feature.PASSTHROUGH
    | Feature.RESEND
)
"""What a mount wants. The kernel's own cache of writes makes sequential writes slower and is not among it."""

LOCKS = Feature.POSIX_LOCKS | Feature.FLOCK_LOCKS
"""For operations that keep locks themselves; else the kernel does, among the programs of one machine. It tells
of closed files those that may hold locks, which must not be opened with `Reach.NO_FLUSH`."""


class TooOld(OSError):
    """The kernel speaks a protocol that is not spoken here."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What the kernel says first."""

    major: int
    minor: int
    read_ahead: int
    features: Feature

    def as_of(self, minor: int) -> Offer:
        """What an older kernel would have said."""
        newer = sum(feature for feature, since in SINCE.items() if since > minor)
        return replace(self, minor=min(self.minor, minor), features=Feature(int(self.features) & ~newer))


@dataclass(frozen=True, slots=True)
class Agreement:
    """What holds for as long as the mount lasts, over restarts too."""

    minor: int
    features: Feature
    largest: int = LARGEST
    """Bytes of a read or write."""

    @property
    def no_flush(self) -> bool:
        """True if the kernel does without telling of each close."""
        return self.minor >= NO_FLUSH_SINCE


def decode_offer(body: bytes | memoryview) -> Offer:
    """Kernels before 5.17 send a shorter one."""
    major, minor, read_ahead, low, high = INIT_IN.unpack(bytes(body[: INIT_IN.size]).ljust(INIT_IN.size, b"\0"))
    features = Feature(low | (high << 32 if low & Feature.EXTENDED else 0))
    return Offer(major, minor, read_ahead, features)


def agree(offer: Offer, wanted: Feature) -> Agreement:
    """Of what is wanted all that the kernel offers."""
    if offer.major != MAJOR or offer.minor < OLDEST_MINOR:
        raise TooOld(
            f"the kernel speaks version {offer.major}.{offer.minor} of the FUSE protocol; {MAJOR}.{OLDEST_MINOR} is "
            "the oldest that will do, which Linux has since 5.4"
        )
    features = offer.features & wanted
    if Feature.WRITEBACK_CACHE in features:
        # The kernel does either.
        features = Feature(int(features) & ~Feature.PASSTHROUGH)
    return Agreement(min(offer.minor, MINOR), features)


def encode_agreement(agreement: Agreement) -> bytes:
    """The reply to the kernel's offer."""
    features = int(agreement.features)
    stacked = 1 if Feature.PASSTHROUGH in agreement.features else 0
    return INIT_OUT.pack(
        MAJOR,
        agreement.minor,
        READ_AHEAD,
        features & 0xFFFFFFFF,
        BACKGROUND,
        CONGESTED,
        agreement.largest,
        1,
        agreement.largest // PAGE,
        0,
        features >> 32,
        stacked,
        0,
    )
