"""Answers as the kernel wants them."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

from pf_fuse.kernel.wire import (
    ATTR_OUT,
    ENTRY_OUT,
    LOCK_OUT,
    LSEEK_OUT,
    OPEN_OUT,
    SIZE_OUT,
    STATFS_OUT,
    WRITE_OUT,
    Open,
)
from pf_fuse.operations import Attributes, Bytes, Known, Lock, Opened, Reach

NANO = 1_000_000_000
BLOCK = 65536
"""How much programs are advised to read and write at once. Some read that much for each of their small reads."""
EVER = 1 << 31
"""Seconds, more than any mount lasts."""
NAME_MAX = 255
UNLOCKED = 2
"""F_UNLCK."""

REACH = {
    Reach.KEEP_CACHE: Open.KEEP_CACHE,
    Reach.DIRECT: Open.DIRECT_IO | Open.PARALLEL_DIRECT_WRITES,
    Reach.NO_FLUSH: Open.NO_FLUSH,
    Reach.CACHE_FOLDER: Open.CACHE_DIR,
}
OPEN_FLAGS = [sum(int(flag) for reach, flag in REACH.items() if bits & reach) for bits in range(1 << len(REACH))]
"""What the kernel is told for each combination of `Reach`."""

NO_ATTRIBUTES = (0,) * 16


def attribute_fields(known: Attributes) -> tuple[int, ...]:
    node, mode, size, uid, gid, modified, changed, accessed, links, blocks = known
    modified_at = divmod(modified, NANO)
    # Backends keep one time.
    changed_at = modified_at if changed == modified else divmod(changed, NANO)
    accessed_at = modified_at if accessed == modified else divmod(accessed, NANO)
    return (
        node,
        size,
        blocks,
        accessed_at[0],
        modified_at[0],
        changed_at[0],
        accessed_at[1],
        modified_at[1],
        changed_at[1],
        mode,
        links,
        uid,
        gid,
        0,
        BLOCK,
        0,
    )


def seconds_and_rest(lasts: float) -> tuple[int, int]:
    if lasts >= EVER:
        return EVER, 0
    seconds = int(lasts)
    return seconds, int((lasts - seconds) * NANO)


def entry_fields(known: Known) -> tuple[int, ...]:
    """A node of 0 says that there is nothing of the name."""
    attributes, name_lasts, attributes_last = known
    lasts, lasts_rest = seconds_and_rest(attributes_last)
    name, name_rest = (lasts, lasts_rest) if name_lasts == attributes_last else seconds_and_rest(name_lasts)
    if attributes is None:
        return (0, 0, name, 0, name_rest, 0, *NO_ATTRIBUTES)
    return (attributes.node, 0, name, lasts, name_rest, lasts_rest, *attribute_fields(attributes))


def encode_entry(known: Known) -> bytes:
    return ENTRY_OUT.pack(*entry_fields(known))


def encode_attributes(known: Known) -> bytes:
    attributes = known.attributes
    if attributes is None:
        raise FileNotFoundError(errno.ENOENT, "a node without attributes")
    lasts, rest = seconds_and_rest(known.attributes_last)
    return ATTR_OUT.pack(lasts, rest, 0, *attribute_fields(attributes))


def encode_opened(node: int, opened: Opened) -> bytes:
    """The handle of an open file is its node."""
    flags = OPEN_FLAGS[opened.reach]
    if opened.backing:
        flags |= int(Open.PASSTHROUGH)
    return OPEN_OUT.pack(node, flags, opened.backing)


def encode_created(created: tuple[Known, Opened]) -> bytes:
    known, opened = created
    if known.attributes is None:
        raise FileNotFoundError(errno.ENOENT, "a new file without attributes")
    return encode_entry(known) + encode_opened(known.attributes.node, opened)


def encode_nothing(_: None) -> bytes:
    return b""


def encode_data(data: Bytes) -> Bytes:
    return data


def encode_written(size: int) -> bytes:
    return WRITE_OUT.pack(size, 0)


def encode_place(offset: int) -> bytes:
    return LSEEK_OUT.pack(offset)


def encode_lock(lock: Lock | None) -> bytes:
    if lock is None:
        return LOCK_OUT.pack(0, 0, UNLOCKED, 0)
    return LOCK_OUT.pack(lock.start, lock.end, lock.kind, lock.pid)


def encode_statfs(found: os.statvfs_result) -> bytes:
    return STATFS_OUT.pack(
        found.f_blocks,
        found.f_bfree,
        found.f_bavail,
        found.f_files,
        found.f_ffree,
        found.f_bsize,
        found.f_namemax or NAME_MAX,
        found.f_frsize,
        0,
    )


def encode_value(room: int, value: bytes) -> bytes:
    """The value of an extended attribute; only its length if there is no room for it."""
    if room == 0:
        return SIZE_OUT.pack(len(value), 0)
    if len(value) > room:
        raise OSError(errno.ERANGE, "the value is longer than asked for")
    return value


def encode_names(room: int, names: Sequence[bytes]) -> bytes:
    return encode_value(room, b"".join(name + b"\0" for name in names))
