"""Whom the node needs: whoever keeps mounts, and whoever knows filesystems by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pf_csi.held import Held
from pf_csi.places import Named, Place


class Holder(Protocol):
    """Keeps one mount for each key, as local processes, as pods, or however else."""

    async def hold(self, key: str, mount: Mapping[str, Any]) -> Held:
        """Has it mounted, unless it is; waits a while. `mount` is what `pf-fuse` is told, with secrets."""

    async def renew(self, key: str, properties: Mapping[str, str]) -> None:
        """Says what opens the place from now on."""

    async def release(self, key: str) -> Held | None:
        """Takes it away; None once it is gone, and what was written is uploaded."""

    async def held(self) -> Mapping[str, Held]:
        """All mounts, by key."""

    async def changed(self) -> None:
        """Returns when the mount of some key is another one than before."""


class Filesystems(Protocol):
    """Knows filesystems by their names."""

    async def described(self, named: Named, *, read_only: bool) -> Place:
        """Where its files lie, and what opens it. Refusal."""
