"""Which jobs callers may see: their own, and those of others in queues that are granted to them.

What somebody had whose name the caller has now is not seen, not even in a queue: it would look like the caller's own.
"""

from __future__ import annotations

from pf_job.jobs.domain import Owner
from pf_job.jobs.ports import Queues, Users
from pf_kit.principal import Principal, PrincipalKind


class Sight:
    """Knows it of all callers."""

    def __init__(self, *, queues: Queues, users: Users) -> None:
        self._queues = queues
        self._users = users

    async def identity(self, caller: Principal) -> Owner:
        """The caller, as the owner of what it makes. Raises UserNotFound."""
        if caller.kind is not PrincipalKind.USER:
            return Owner(caller.name)
        return await self.user(caller.name) if caller.since is None else Owner(caller.name, caller.since)

    async def user(self, name: str) -> Owner:
        """The user who has a name now. Raises UserNotFound."""
        return Owner(name, await self._users.since(name))

    async def granted(self, caller: Principal) -> frozenset[str]:
        """The queues in which the caller may see the jobs of others, unless it may see all."""
        return await self._queues.granted(caller.name)

    async def owns(self, caller: Principal, owner: Owner) -> bool:
        """True if the caller may do with a job whatever its owner may."""
        return caller.root or (owner.name == caller.name and owner.is_of(await self.identity(caller)))

    async def sees(self, caller: Principal, owner: Owner, queue: str) -> bool:
        if caller.root or owner.name == caller.name:
            return await self.owns(caller, owner)
        return queue in await self.granted(caller)
