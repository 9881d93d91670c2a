"""Finds out whether a place can be had, before anything is kept of it; and opens one that is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from pf_fs.domain import Opened, Placed, Secrets
from pf_fs.ports import Folder, Servers
from pf_fs.properties import parted
from pf_fs.service.folders import Folders
from pf_fs.urls import Place, place_of
from pf_fs.vault import Vault

WHOLE = PurePosixPath()
"""The path of a place itself."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A place that somebody wants to have."""

    place: Place
    owner: str
    confined: bool
    """True if its folder has to be one of those for users."""
    properties: Mapping[str, str] = field(repr=False)
    """Secrets among them."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A place that can be had."""

    folder: PurePosixPath | None
    properties: Mapping[str, str]
    secrets: Secrets


class Settling:
    """Folders of the machine, and servers, behind one door."""

    def __init__(self, *, folders: Folders, servers: Servers, vault: Vault) -> None:
        self._folders = folders
        self._servers = servers
        self._vault = vault

    async def settle(self, wish: Wish, bound_to: tuple[str, ...]) -> Settled:
        """The place, its folder found or its server asked. Raises what CreateFilesystem lists of places."""
        plain, secret = parted(wish.place.kind, wish.properties)
        sealed = self._vault.seal(bound_to, secret)
        if wish.place.kind.remote:
            await self._servers.check(Opened(str(wish.place), plain, secret))
            return Settled(None, plain, sealed)
        folder = await self._folders.choose(wish.place, wish.owner, confined=wish.confined)
        return Settled(folder.path, plain, sealed)

    async def open(self, placed: Placed, below: PurePosixPath) -> Folder | Opened:
        """A folder in a place as it is now. Raises what DescribeMount lists of places."""
        if not placed.kind.remote:
            return await self._folders.open(placed, below)
        return self.opened(placed, below)

    def opened(self, placed: Placed, below: PurePosixPath = WHOLE) -> Opened:
        """What opens a folder behind a server. Raises SecretsUnreadable."""
        return Opened(str(place_of(placed.url).below(below)), placed.properties, self._vault.open(placed))
