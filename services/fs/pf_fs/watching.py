"""What a watch of filesystems tells its caller: of all, or of its own and those that are shared with it.

An event says by itself to whom it matters: that of a filesystem to its owner, that of a grant to its user. A filesystem
that is deleted takes its grants with it, each of which is an event. So a watch needs no memory, also to be resumed.
"""

from __future__ import annotations

from collections.abc import Sequence

from paddleflow.common.v1 import event_pb2
from paddleflow.fs.v1 import fs_pb2
from pf_fs.convert import FILESYSTEM_EVENT, GRANT_EVENT, existing
from pf_fs.domain import FilesystemFilter
from pf_fs.service.naming import seen_by
from pf_fs.store import ALL, FilesystemStore
from pf_kit.events import Event
from pf_kit.principal import Principal
from pf_kit.unit import View


class Teller:
    """Says what things mean to one watcher."""

    def __init__(self, *, store: FilesystemStore, caller: Principal) -> None:
        self._store = store
        self._user = seen_by(caller)

    async def existing(self, view: View) -> Sequence[fs_pb2.FilesystemEvent]:
        """The filesystems as they are."""
        found = await self._store.filesystems(view, FilesystemFilter(seen_by=self._user), "", ALL)
        return [existing(filesystem) for filesystem in found]

    async def changes(self, event: Event) -> Sequence[fs_pb2.FilesystemEvent]:
        """What an event means; often nothing."""
        if event.fact.type == GRANT_EVENT:
            return self._shared(fs_pb2.FilesystemGrantEvent.FromString(event.fact.payload))
        if event.fact.type != FILESYSTEM_EVENT:
            return []
        told = fs_pb2.FilesystemEvent.FromString(event.fact.payload)
        return [told] if self._user in (None, told.filesystem.owner) else []

    def _shared(self, event: fs_pb2.FilesystemGrantEvent) -> Sequence[fs_pb2.FilesystemEvent]:
        # Another access to what is seen already makes no difference to the filesystem.
        if event.grant.user != self._user or event.kind == event_pb2.CHANGE_KIND_UPDATED:
            return []
        return [fs_pb2.FilesystemEvent(kind=event.kind, filesystem=event.filesystem)]
