"""What must be there before the first call: the user root."""

from __future__ import annotations

from paddleflow.problems import UserExists
from pf_kit.unit import Database
from pf_queue.accounts.domain import ROOT
from pf_queue.accounts.service.users import Users
from pf_queue.accounts.store import LOCK, AccountStore


async def seed_root(database: Database, store: AccountStore, users: Users, password: str) -> bool:
    """Adds the user root with this password; False if it is there already, with the password that it has.

    Several instances may start at once: one of them adds it. PasswordTooWeak names the field `password`.
    """
    if await store.user(database.newest, ROOT) is not None:
        return False
    new = await users.draft(ROOT, password)
    try:
        async with database.change(LOCK) as change:
            await users.create(change, new)
    except UserExists:
        return False
    return True
