"""The use cases of filesystems over stores in memory, with servers of a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from paddleflow.problems import Problem, ServerUnusable
from pf_fs.convert import encode
from pf_fs.disk import MachineDisk
from pf_fs.domain import Filesystem, Key, Opened
from pf_fs.links.memory import MemoryLinkStore
from pf_fs.links.service import LinkDraft, Links
from pf_fs.memory import MemoryFilesystemStore
from pf_fs.mounts.domain import Cache
from pf_fs.mounts.memory import MemoryMountStore
from pf_fs.mounts.service import Caches, Reports
from pf_fs.paths import sub_path
from pf_fs.ports import Use, Uses
from pf_fs.rules import Rules
from pf_fs.service import Filesystems, Folders, Grants, Mounts, Naming, Settling, Updates
from pf_fs.service.filesystems import Draft
from pf_fs.store import LOCK
from pf_fs.urls import place_of
from pf_fs.uses import RemoteUses
from pf_fs.vault import Vault
from pf_kit.memory import MemoryDatabase
from pf_kit.principal import Principal, PrincipalKind
from pf_kit.sealing import KeyRing
from support.accounts import ManualClock

OLD, NEW = bytes(32), bytes(range(32))
S3 = {"endpoint": "s3.example.org", "accessKey": "AK", "secretKey": "very secret"}
ALICE = Principal(PrincipalKind.USER, "alice")
BOBBY = Principal(PrincipalKind.USER, "bobby")
ROOT = Principal(PrincipalKind.USER, "root", root=True)
JOB = Principal(PrincipalKind.USER, "bobby", acting_service="job")


@dataclass
class Servers:
    """Answers as a test wants, and remembers what it was asked with."""

    asked: list[Opened] = field(default_factory=list)
    refusal: str = ""
    occupied: set[str] = field(default_factory=set)

    async def check(self, opened: Opened) -> None:
        self.asked.append(opened)
        if self.refusal:
            raise ServerUnusable(self.refusal)

    async def is_occupied(self, opened: Opened, path: str) -> bool:
        self.asked.append(opened)
        return path in self.occupied


@dataclass
class Users:
    """There is everybody."""

    async def exists(self, _name: str) -> bool:
        return True

    async def all(self) -> frozenset[str]:
        return frozenset()


class FsParts:
    """All use cases, over one database."""

    def __init__(self, keys: KeyRing | None = None, uses: Uses | None = None) -> None:
        self._uses = uses or RemoteUses({}, tuple)
        self.clock, self.servers = ManualClock(), Servers()
        self.database = MemoryDatabase(encode=encode, clock=self.clock)
        self.store, self.link_store, self.mount_store = MemoryFilesystemStore(), MemoryLinkStore(), MemoryMountStore()
        self.use(keys or KeyRing([OLD]))

    def use(self, keys: KeyRing) -> None:
        """The service begins again with these keys."""
        naming, users = Naming(store=self.store), Users()
        self.vault = Vault(keys)
        folders = Folders(disk=MachineDisk(), rules=Rules(), roots=[])
        settling = Settling(folders=folders, servers=self.servers, vault=self.vault)
        self.filesystems = Filesystems(
            store=self.store,
            mounts=self.mount_store,
            naming=naming,
            settling=settling,
            users=users,
            uses=self._uses,
        )
        self.updates = Updates(store=self.store, naming=naming, settling=settling, vault=self.vault)
        self.grants = Grants(store=self.store, naming=naming, users=users)
        self.mounts = Mounts(naming=naming, links=self.link_store, mounts=self.mount_store, settling=settling)
        self.links = Links(
            store=self.link_store, filesystems=self.store, naming=naming, settling=settling, servers=self.servers
        )
        self.reports = Reports(store=self.mount_store, naming=naming, clock=self.clock)
        self.caches = Caches(store=self.mount_store, naming=naming)

    async def make(
        self,
        url: str = "s3://bucket/data",
        properties: Mapping[str, str] = S3,
        name: str = "data",
        caller: Principal = ALICE,
    ) -> Filesystem:
        draft = Draft(owner=caller.name, name=name, place=place_of(url), properties=properties)
        judged = await self.filesystems.judge(caller, draft)
        async with self.database.change(LOCK) as change:
            return await self.filesystems.create(change, judged)

    async def link(
        self,
        path: str,
        url: str = "s3://other/x",
        properties: Mapping[str, str] = S3,
        *,
        caller: Principal = ALICE,
        filesystem_id: str = "fs-alice-data",
    ) -> None:
        draft = LinkDraft(sub_path(path), place_of(url), properties)
        judged = await self.links.judge(self.database.newest, caller, filesystem_id, draft)
        async with self.database.change(LOCK) as change:
            await self.links.create(change, caller, judged)

    async def delete(self, uses: Sequence[Use] | Problem = ()) -> None:
        async with self.database.change(LOCK) as change:
            await self.filesystems.delete(change, ALICE, "fs-alice-data", "", uses)

    async def set_cache(self, cache: Cache) -> None:
        async with self.database.change(LOCK) as change:
            await self.caches.set(change, ALICE, "fs-alice-data", cache)

    async def delete_cache(self) -> None:
        async with self.database.change(LOCK) as change:
            await self.caches.delete(change, ALICE, "fs-alice-data")

    async def found(self) -> Filesystem:
        return await self.filesystems.get(self.database.newest, ALICE, Key(name="data"))
