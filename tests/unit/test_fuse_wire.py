"""Messages have the sizes and places that <linux/fuse.h> says, and are as hostile as the kernel allows."""

from __future__ import annotations

import errno
import os
import socket
from struct import Struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_fuse.kernel import wire
from pf_fuse.kernel.encoding import (
    BLOCK,
    NANO,
    encode_attributes,
    encode_created,
    encode_entry,
    encode_lock,
    encode_names,
    encode_opened,
    encode_statfs,
    encode_value,
)
from pf_fuse.kernel.notices import name_notice, node_notice, resend_notice
from pf_fuse.kernel.replies import error_number
from pf_fuse.operations import Attributes, Known, Lock, Opened, Reach

# From the structures of the header; those of one size are not told apart by it, so names say which.
SIZES = {
    "HEAD": 24,
    "ASKER": 12,
    "REPLY": 16,
    "INIT_IN": 20,
    "INIT_OUT": 64,
    "FORGET_IN": 8,
    "FORGET_ONE": 16,
    "BATCH_FORGET_IN": 8,
    "SETATTR_IN": 88,
    "MKNOD_IN": 16,
    "MKDIR_IN": 8,
    "RENAME_IN": 8,
    "RENAME2_IN": 16,
    "LINK_IN": 8,
    "OPEN_IN": 8,
    "CREATE_IN": 16,
    "RELEASE_IN": 24,
    "FLUSH_IN": 24,
    "READ_IN": 40,
    "READ_PLACE": 20,
    "SETXATTR_IN": 8,
    "GETXATTR_IN": 8,
    "FSYNC_IN": 16,
    "LOCK_IN": 48,
    "INTERRUPT_IN": 8,
    "FALLOCATE_IN": 32,
    "LSEEK_IN": 24,
    "COPY_RANGE_IN": 56,
    "ENTRY_OUT": 128,
    "ATTR_OUT": 104,
    "OPEN_OUT": 16,
    "WRITE_OUT": 8,
    "STATFS_OUT": 80,
    "SIZE_OUT": 8,
    "LOCK_OUT": 24,
    "LSEEK_OUT": 8,
    "DIRENT": 24,
    "DIRENT_PLUS": 152,
    "INVALIDATE_NODE_OUT": 24,
    "INVALIDATE_NAME_OUT": 16,
    "BACKING_MAP": 16,
    "BACKING_ID": 4,
}

big = st.integers(0, 2**64 - 1)
small = st.integers(0, 2**32 - 1)
times = st.integers(-(2**62), 2**62)
attributes = st.builds(
    Attributes,
    node=big,
    mode=small,
    size=big,
    uid=small,
    gid=small,
    modified=times,
    changed=times,
    accessed=times,
    links=small,
    blocks=big,
)
lasting = st.floats(0, 1e12)


def test_every_layout_has_the_size_of_its_structure() -> None:
    assert {name: layout.size for name, layout in vars(wire).items() if isinstance(layout, Struct)} == SIZES


@given(attributes, lasting, lasting)
def test_all_that_is_known_of_a_thing_is_told(thing: Attributes, name_lasts: float, lasts: float) -> None:
    fields = wire.ENTRY_OUT.unpack(encode_entry(Known(thing, name_lasts, lasts)))
    node, generation, name, attr, name_rest, attr_rest, again, size, blocks, *rest = fields
    assert (node, generation, again, size, blocks) == (thing.node, 0, thing.node, thing.size, thing.blocks)
    assert 0 <= name_rest < NANO
    assert 0 <= attr_rest < NANO
    assert name == min(int(name_lasts), 1 << 31)
    assert attr == min(int(lasts), 1 << 31)
    seconds, rests = rest[:3], rest[3:6]
    wanted = [thing.accessed, thing.modified, thing.changed]
    assert [second * NANO + part for second, part in zip(seconds, rests, strict=True)] == wanted
    assert rest[6:] == [thing.mode, thing.links, thing.uid, thing.gid, 0, BLOCK, 0]


@given(attributes, lasting)
def test_attributes_are_the_same_whoever_asks(thing: Attributes, lasts: float) -> None:
    known = Known(thing, 0, lasts)
    assert encode_attributes(known)[wire.ATTR_OUT.size - 88 :] == encode_entry(known)[wire.ENTRY_OUT.size - 88 :]


def test_what_is_known_not_to_be_there_has_no_node() -> None:
    node, _, seconds, _, nanoseconds, *_ = wire.ENTRY_OUT.unpack(encode_entry(Known(None, 1.5, 0)))
    assert (node, seconds, nanoseconds) == (0, 1, 500_000_000)


@pytest.mark.parametrize(
    ("opened", "flags"),
    [
        pytest.param(Opened(), 0, id="nothing"),
        pytest.param(Opened(Reach.KEEP_CACHE | Reach.NO_FLUSH), 1 << 1 | 1 << 5, id="kept, no flush"),
        pytest.param(Opened(Reach.DIRECT), 1 << 0 | 1 << 6, id="direct"),
        pytest.param(Opened(Reach.CACHE_FOLDER), 1 << 3, id="folder"),
        pytest.param(Opened(backing=7), 1 << 7, id="passthrough"),
    ],
)
def test_an_open_file_is_treated_as_asked_for(opened: Opened, flags: int) -> None:
    assert wire.OPEN_OUT.unpack(encode_opened(9, opened)) == (9, flags, opened.backing)


def test_a_new_file_is_an_entry_and_an_open_file() -> None:
    known = Known(Attributes(5, 0o100644, 0, 0, 0, 0, 0, 0), 1, 1)
    assert encode_created((known, Opened())) == encode_entry(known) + encode_opened(5, Opened())


def test_a_lock_that_is_in_nobodys_way_is_none() -> None:
    assert wire.LOCK_OUT.unpack(encode_lock(None)) == (0, 0, 2, 0)
    assert wire.LOCK_OUT.unpack(encode_lock(Lock(1, 2, 3, 1, 4))) == (2, 3, 1, 4)


def test_a_value_is_told_if_there_is_room_for_it() -> None:
    assert encode_value(3, b"abc") == b"abc"
    assert wire.SIZE_OUT.unpack(encode_value(0, b"abc")) == (3, 0)
    assert encode_names(8, [b"abc", b"def"]) == b"abc\0def\0"
    with pytest.raises(OSError, match="longer") as refused:
        encode_value(2, b"abc")
    assert refused.value.errno == errno.ERANGE


def test_a_disk_is_described_in_its_own_units() -> None:
    found = os.statvfs("/")
    fields = wire.STATFS_OUT.unpack(encode_statfs(found))
    assert fields[:5] == (found.f_blocks, found.f_bfree, found.f_bavail, found.f_files, found.f_ffree)
    assert fields[5:8] == (found.f_bsize, found.f_namemax, found.f_frsize)


def test_notices_say_what_they_are_about() -> None:
    assert node_notice(7) == wire.REPLY.pack(40, 2, 0) + wire.INVALIDATE_NODE_OUT.pack(7, 0, 0)
    name = wire.INVALIDATE_NAME_OUT.pack(7, 2, 1) + b"ab\0"
    assert name_notice(7, b"ab", expire=True) == wire.REPLY.pack(35, 3, 0) + name
    assert resend_notice() == wire.REPLY.pack(16, 7, 0)


@pytest.mark.parametrize(
    ("failure", "number"),
    [
        pytest.param(OSError(errno.ENOENT, "x"), errno.ENOENT, id="plain"),
        pytest.param(TimeoutError(), errno.EIO, id="without a number"),
        pytest.param(socket.gaierror(socket.EAI_NONAME, "x"), errno.EIO, id="below zero"),
        pytest.param(OSError(512, "x"), errno.EIO, id="above what the kernel takes"),
        pytest.param(ValueError("x"), errno.EIO, id="no error of files"),
    ],
)
def test_the_kernel_is_told_no_number_that_it_refuses(failure: Exception, number: int) -> None:
    assert error_number(failure) == number
