"""Writes files: beside their place first, then at it. The name node renames at once, and tells what it found there."""

from __future__ import annotations

import errno
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from pf_backends.entries import Condition, Entry, Facts
from pf_backends.errors import Unreachable, changed, failure, unsupported
from pf_backends.hdfs import hadoop_pb2 as hadoop
from pf_backends.hdfs.blockwriting import BlockWriter
from pf_backends.hdfs.files import Files, entry_of, is_folder, name_of, require_file, version_of
from pf_backends.hdfs.lines import Lines
from pf_backends.hdfs.settings import HdfsSettings
from pf_backends.hidden import OWN, own_name
from pf_backends.paths import joined, parent

_NEW_FILE, _NEW_FOLDER = 0o644, 0o755
_MAKE = 1
_ENCRYPTED = "the cluster takes only what is encrypted on its way, which is not done here"


@dataclass
class Writer:
    """For many threads."""

    settings: HdfsSettings
    lines: Lines
    guard: threading.Lock = field(default_factory=threading.Lock)
    known: list[hadoop.Defaults] = field(default_factory=list)
    """What the cluster does with new files, once it was asked."""

    def put(self, files: Files, path: str, body: memoryview, facts: Facts, condition: Condition) -> Entry:
        """Fulfils `Backend.put`."""
        refuse_attributes(path, facts)
        files.where(path)
        require_condition(files, path, condition)
        draft = joined(parent(path), own_name())
        try:
            status = self.draft(files, path, draft, body, facts)
            place(files, draft, path, absent=condition.absent)
        except BaseException:
            with suppress(OSError):
                files.delete(draft, shown=path)
            raise
        return entry_of(path, status)

    def draft(self, files: Files, path: str, draft: str, body: memoryview, facts: Facts) -> hadoop.Status:
        """Writes a file that nobody sees; what is wrong is told against the path that it is for."""
        defaults = self._defaults(files)
        writer = BlockWriter(files, self.lines, draft, path, defaults)
        block_size = self.settings.block_size or defaults.block_size
        mode = _NEW_FILE if facts.mode is None else facts.mode & 0o1777
        ask = hadoop.Create(
            path=files.own(draft),
            mode=hadoop.Mode(bits=mode),
            writer=writer.name,
            flags=_MAKE,
            above=False,
            replication=self.settings.replication or defaults.replication,
            block_size=block_size,
        )
        files.ask(path, "create", ask, hadoop.Done)
        writer.write(body, block_size)
        writer.complete()
        if facts.modified is not None:
            files.set_modified(draft, facts.modified, shown=path)
        found = hadoop.GetFileInfo(path=files.own(draft))
        return files.ask(path, "getFileInfo", found, hadoop.GetFileInfo.Reply).status

    def append(self, files: Files, path: str, body: memoryview, offset: int) -> Entry:
        """Fulfils `Backend.append`."""
        before = files.found(path)
        require_file(path, before)
        if before.size != offset:
            raise changed(path, f"ends at {before.size}, not at {offset}")
        defaults = self._defaults(files)
        writer = BlockWriter(files, self.lines, path, path, defaults)
        reply = files.ask(
            path, "append", hadoop.Append(path=files.where(path), writer=writer.name), hadoop.Append.Reply
        )
        try:
            self._add(writer, reply, body, files, path, offset)
        except BaseException:
            # Otherwise nobody could write it for an hour.
            ask = hadoop.RecoverLease(path=files.where(path), writer=writer.name)
            with suppress(OSError):
                files.ask(path, "recoverLease", ask, hadoop.Done)
            raise
        return entry_of(path, files.found(path))

    def _add(
        self, writer: BlockWriter, reply: hadoop.Append.Reply, body: memoryview, files: Files, path: str, offset: int
    ) -> None:
        status = reply.status if reply.HasField("status") else files.found(path)
        # Name nodes hold on to what a file was made with.
        block_size = status.block_size or self._defaults(files).block_size
        if reply.HasField("block"):
            end = reply.block.offset + reply.block.block.size
            room = max(0, block_size - reply.block.block.size)
        else:
            end, room = status.size, 0
        if end != offset:
            raise changed(path, f"ends at {end}, not at {offset}")
        if room:
            writer.grow(reply.block, body[:room])
        writer.write(body[room:], block_size)
        writer.complete()

    def _defaults(self, files: Files) -> hadoop.Defaults:
        with self.guard:
            known = self.known[:1]
        if known:
            return known[0]
        reply = files.ask("", "getServerDefaults", hadoop.GetServerDefaults(), hadoop.GetServerDefaults.Reply)
        if reply.defaults.encrypted:
            raise unsupported("", _ENCRYPTED)
        with self.guard:
            self.known.append(reply.defaults)
        return reply.defaults


def keep(files: Files, path: str, facts: Facts, *, shown: str) -> None:
    """Gives facts to a thing. Owners have names, not numbers: they stay who they are."""
    refuse_attributes(shown, facts)
    if facts.mode is not None:
        files.set_mode(path, facts.mode, shown=shown)
    if facts.modified is not None:
        files.set_modified(path, facts.modified, shown=shown)


def make_folder(files: Files, path: str, facts: Facts) -> Entry:
    """Name nodes say nothing if a folder is there already: so it is made elsewhere, and renamed."""
    refuse_attributes(path, facts)
    files.where(path)
    draft = joined(parent(path), own_name())
    bits = _NEW_FOLDER if facts.mode is None else facts.mode & 0o1777
    ask = hadoop.MakeFolders(path=files.own(draft), mode=hadoop.Mode(bits=bits), above=False)
    files.ask(path, "mkdirs", ask, hadoop.Done)
    try:
        keep(files, draft, facts, shown=path)
        place_new(files, draft, path)
    except BaseException:
        with suppress(OSError):
            files.delete(draft, shown=path)
        raise
    return entry_of(path, files.found(path))


def remove(files: Files, path: str, condition: Condition) -> None:
    status = files.found(path)
    if is_folder(status):
        raise failure(errno.EISDIR, path, "is a folder")
    if condition.absent or (condition.version and version_of(status) != condition.version):
        raise changed(path, "there is another version by now")
    if not files.delete(path, shown=path):
        raise failure(errno.ENOENT, path, "there is nothing any more")


def remove_folder(files: Files, path: str) -> None:
    if not is_folder(files.found(path)):
        raise failure(errno.ENOTDIR, path, "is no folder")
    try:
        files.delete(path, shown=path)
    except OSError as error:
        if error.errno != errno.ENOTEMPTY or not _only_ours(files, path):
            raise
        files.delete(path, shown=path)


def rename(files: Files, source: str, target: str, *, replace: bool) -> None:
    """Fulfils `Backend.rename`."""
    files.where(target)
    one, other = files.found(source), files.look(target)
    if other is not None and not replace:
        raise failure(errno.EEXIST, target, "something is there")
    if other is not None and is_folder(one) != is_folder(other):
        raise failure(errno.ENOTDIR if is_folder(one) else errno.EISDIR, target, "is of another kind")
    if target.startswith(f"{source}/"):
        raise failure(errno.EINVAL, target, "lies in what is to be renamed")
    if source == target:
        return
    try:
        files.rename(source, target, replace=replace, shown=target)
    except Unreachable:
        if other is not None and is_folder(other) and files.listing(target, b"").entries:
            raise failure(errno.ENOTEMPTY, target, "is not empty") from None
        raise


def place(files: Files, draft: str, path: str, *, absent: bool) -> None:
    """A file that nobody saw is where it is to be."""
    if absent:
        try:
            place_new(files, draft, path)
        except FileExistsError:
            raise changed(path, "there is something by now") from None
        return
    try:
        files.rename(draft, path, replace=True, shown=path)
    except Unreachable:
        status = files.look(path)
        if status is not None and is_folder(status):
            raise failure(errno.EISDIR, path, "is a folder") from None
        raise


def place_new(files: Files, draft: str, path: str) -> None:
    """The same where there is nothing; FileExistsError otherwise."""
    try:
        files.rename(draft, path, replace=False, shown=path)
    except Unreachable:
        # Of something of another kind it is said only that it is that.
        if files.look(path) is not None:
            raise failure(errno.EEXIST, path, "something is there") from None
        raise


def require_condition(files: Files, path: str, condition: Condition) -> None:
    """Changed if a condition does not hold."""
    if not condition.absent and not condition.version:
        return
    status = files.look(path)
    if status is None:
        if condition.version:
            raise changed(path, "there is nothing any more")
    elif condition.absent:
        raise changed(path, "there is something by now")
    elif version_of(status) != condition.version:
        raise changed(path, "there is another version by now")


def refuse_attributes(path: str, facts: Facts) -> None:
    if facts.attributes:
        raise unsupported(path, "keeps no attributes")


def _only_ours(files: Files, path: str) -> bool:
    """True if nothing but drafts and parts was in a folder, and they are gone now: what they are for goes too."""
    names = [name_of(status) for listing in files.pages(path, b"") for status in listing.entries]
    ours = [name for name in names if name is not None and name.startswith(OWN)]
    if len(ours) < len(names):
        return False
    for name in ours:
        files.delete(joined(path, name), shown=path, whole=True)
    return True


def removed(files: Files, path: str) -> OSError | None:
    """What went wrong when something was removed, if it did."""
    try:
        remove(files, path, Condition())
    except FileNotFoundError:
        return None
    except OSError as error:
        return error
    return None


def all_removed(files: Files, paths: Sequence[str]) -> Sequence[OSError | None]:
    return [removed(files, path) for path in paths]
