"""Requests in words, for the log of accesses."""

from __future__ import annotations

import errno
from struct import Struct

from pf_fuse.kernel import wire
from pf_fuse.kernel.wire import ASKER, ASKER_AT, BODY, HEAD, Ask

FIELDS: dict[Ask, tuple[Struct, str]] = {
    Ask.FORGET: (wire.FORGET_IN, "times"),
    Ask.SETATTR: (wire.SETATTR_IN, "which - - size - atime mtime - - - - mode - uid gid"),
    Ask.MKNOD: (wire.MKNOD_IN, "mode device"),
    Ask.MKDIR: (wire.MKDIR_IN, "mode"),
    Ask.RENAME: (wire.RENAME_IN, "new_folder"),
    Ask.RENAME2: (wire.RENAME2_IN, "new_folder flags"),
    Ask.LINK: (wire.LINK_IN, "linked"),
    Ask.OPEN: (wire.OPEN_IN, "flags"),
    Ask.CREATE: (wire.CREATE_IN, "flags mode"),
    Ask.READ: (wire.READ_IN, "- offset size"),
    Ask.WRITE: (wire.READ_IN, "- offset size"),
    Ask.READDIR: (wire.READ_IN, "- offset size"),
    Ask.READDIRPLUS: (wire.READ_IN, "- offset size"),
    Ask.RELEASE: (wire.RELEASE_IN, "- flags"),
    Ask.FSYNC: (wire.FSYNC_IN, "- data_only"),
    Ask.SETXATTR: (wire.SETXATTR_IN, "size flags"),
    Ask.GETXATTR: (wire.GETXATTR_IN, "size"),
    Ask.GETLK: (wire.LOCK_IN, "- owner start end kind process flock"),
    Ask.SETLK: (wire.LOCK_IN, "- owner start end kind process flock"),
    Ask.SETLKW: (wire.LOCK_IN, "- owner start end kind process flock"),
    Ask.INTERRUPT: (wire.INTERRUPT_IN, "request"),
    Ask.FALLOCATE: (wire.FALLOCATE_IN, "- offset length mode"),
    Ask.LSEEK: (wire.LSEEK_IN, "- offset whence"),
    Ask.COPY_FILE_RANGE: (wire.COPY_RANGE_IN, "- offset target - target_offset length"),
}
"""What comes first in a request's body; a dash is left out."""

NAMES = {
    Ask.LOOKUP: 1,
    Ask.MKNOD: 1,
    Ask.MKDIR: 1,
    Ask.SYMLINK: 2,
    Ask.UNLINK: 1,
    Ask.RMDIR: 1,
    Ask.RENAME: 2,
    Ask.RENAME2: 2,
    Ask.LINK: 1,
    Ask.CREATE: 1,
    Ask.SETXATTR: 1,
    Ask.GETXATTR: 1,
    Ask.REMOVEXATTR: 1,
}
"""How many names follow."""


def ask_name(opcode: int) -> str:
    return Ask(opcode).name.lower() if opcode in Ask.__members__.values() else f"request_{opcode}"


def describe(request: bytes | memoryview) -> str:
    """Who asks for what, in one line."""
    length, opcode, _, node = HEAD.unpack_from(request)
    user, group, process = ASKER.unpack_from(request, ASKER_AT)
    words = [f"user={user} group={group} process={process}", ask_name(opcode), f"node={node}"]
    if opcode in Ask.__members__.values():
        words += _details(Ask(opcode), request[BODY:length])
    return " ".join(words)


def _details(ask: Ask, body: bytes | memoryview) -> list[str]:
    layout, names = FIELDS.get(ask, (Struct(""), ""))
    if len(body) < layout.size:
        return ["cut short"]
    values = zip(names.split(), layout.unpack_from(body), strict=False)
    words = [f"{name}={value:#o}" if name == "mode" else f"{name}={value}" for name, value in values if name != "-"]
    texts = bytes(body[layout.size :]).split(b"\0")[: NAMES.get(ask, 0)]
    return words + [ascii(text.decode(errors="surrogateescape")) for text in texts]


def describe_end(error: int, took: int) -> str:
    """How it ended and after how many nanoseconds."""
    result = errno.errorcode.get(error, str(error)) if error else "ok"
    return f"{result} {took / 1e6:.3f} ms"
