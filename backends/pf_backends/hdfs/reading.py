"""Reads files: asks name nodes where their blocks are, and data nodes for these.

The bytes of a block never change without its generation. So that they are of one version, the blocks are asked for
before it is looked whether the file is still that version.
"""

from __future__ import annotations

import errno
import threading
from collections import OrderedDict
from collections.abc import Sequence

from pf_backends.entries import Entry
from pf_backends.errors import changed, failure, unreachable
from pf_backends.hdfs.blocks import BlockReader
from pf_backends.hdfs.files import Files, entry_of, is_folder, require_file, version_of
from pf_backends.hdfs.hadoop_pb2 import LocatedBlock, LocatedBlocks, Status
from pf_backends.wire.messages import Broken

_LOOKS = 4
"""How often it is asked anew where a file is that changes, or whose blocks have moved."""
_KNOWN = 128
"""Files of which it is remembered where they are."""
_MOST_BLOCKS = 64
"""Blocks of a file that are remembered; where one lies is told in about 200 bytes."""
_ALL = (1 << 63) - 1


class Reader:
    """For many threads."""

    def __init__(self, blocks: BlockReader) -> None:
        self._blocks = blocks
        self._guard = threading.Lock()
        self._known: OrderedDict[str, LocatedBlocks] = OrderedDict()
        """The blocks of versions."""

    def read(self, files: Files, path: str, offset: int, into: memoryview, version: str) -> int:
        """Fulfils `Backend.read`."""
        why = ""
        for attempt in range(_LOOKS):
            located = self._located(files, path, offset, len(into), version, afresh=attempt > 0)
            wanted = into[: max(0, _size(located) - offset)]
            try:
                self._fill(located, offset, wanted, files.deadline)
            except Broken as broken:
                why = broken.why
            else:
                return len(wanted)
        raise unreachable(path, why)

    def fetch(self, files: Files, path: str, limit: int) -> tuple[Entry, bytes]:
        """Fulfils `Backend.fetch`."""
        for attempt in range(_LOOKS):
            status = files.found(path)
            require_file(path, status)
            if status.size > limit:
                raise failure(errno.EFBIG, path, f"has {status.size} bytes, more than {limit}")
            body = memoryview(bytearray(status.size))
            try:
                if attempt or not self._is_filled(files, path, status, body):
                    self.read(files, path, 0, body, version_of(status))
            except OSError as error:
                if error.errno not in (errno.ESTALE, errno.ENOENT):
                    raise
                continue
            return entry_of(path, status), bytes(body)
        raise changed(path, "is written to all the time")

    def _is_filled(self, files: Files, path: str, status: Status, into: memoryview) -> bool:
        """The whole file, by its number: it is not asked again whether it is still there. False if that is no way."""
        if not into:
            return True
        try:
            located = files.blocks(path, 0, len(into), status.id)
            if located.growing or located.size != len(into):
                return False
            self._fill(located, 0, into, files.deadline)
        except (Broken, FileNotFoundError):
            return False
        return True

    def _located(self, files: Files, path: str, offset: int, size: int, version: str, *, afresh: bool) -> LocatedBlocks:
        """The blocks with these bytes of the version, or of whatever is there. Changed if it is another one by now."""
        known = None if afresh or not version else self._remembered(version)
        located = known or self._told(files, path, *((0, _ALL) if version else (offset, size)))
        status = files.look(path)
        if status is None:
            raise changed(path, "is there no more") if version else failure(errno.ENOENT, path, "there is nothing")
        require_file(path, status)
        if version and version_of(status) != version:
            raise changed(path, "there is another version by now")
        if version and _size(located) < status.size:
            raise unreachable(path, "has bytes that nobody tells of yet; somebody is writing it")
        if known is None and version:
            self._remember(version, located)
        return located

    def _told(self, files: Files, path: str, offset: int, size: int) -> LocatedBlocks:
        try:
            return files.blocks(path, offset, size)
        except FileNotFoundError as error:
            raise _why_not(files, path, error) from None

    def _remembered(self, version: str) -> LocatedBlocks | None:
        with self._guard:
            return self._known.get(version)

    def _remember(self, version: str, located: LocatedBlocks) -> None:
        if located.growing or len(located.blocks) > _MOST_BLOCKS:
            return
        with self._guard:
            self._known[version] = located
            if len(self._known) > _KNOWN:
                self._known.popitem(last=False)

    def _fill(self, located: LocatedBlocks, offset: int, into: memoryview, deadline: float) -> None:
        """Raises Broken."""
        end, filled = offset + len(into), 0
        for block in _readable(located):
            start, stop = max(offset, block.offset), min(end, block.offset + block.block.size)
            if start < stop:
                self._blocks.read(block, start - block.offset, into[start - offset : stop - offset], deadline)
                filled += stop - start
        if filled < len(into):
            raise Broken("the name node does not tell where all of its bytes are")


def _readable(located: LocatedBlocks) -> Sequence[LocatedBlock]:
    """The blocks, and what there is of the one that somebody is writing."""
    growing = located.HasField("last") and not located.last_is_whole
    return [*located.blocks, located.last] if growing else located.blocks


def _size(located: LocatedBlocks) -> int:
    """Bytes of the file."""
    return max([located.size, *(block.offset + block.block.size for block in _readable(located))])


def _why_not(files: Files, path: str, error: OSError) -> OSError:
    """Of a folder name nodes say that there is no file."""
    status = files.look(path)
    if status is not None and is_folder(status):
        return failure(errno.EISDIR, path, "is a folder")
    return error
