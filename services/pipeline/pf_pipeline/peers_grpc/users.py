"""Users in whose names something is done."""

from __future__ import annotations

from paddleflow.problems import UserNotFound
from pf_pipeline.owners import Owner, Users


async def require_there(users: Users, owner: Owner) -> None:
    """Raises UserNotFound if the owner of something is there no more: who has its name now is another."""
    if not owner.is_of(Owner(owner.name, await users.since(owner.name))):
        raise UserNotFound(f"the user {owner.name!r} has been deleted, and another one has the name now")
