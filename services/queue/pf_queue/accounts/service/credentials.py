"""Who knows a user's password."""

from __future__ import annotations

from pf_kit.clock import Clock
from pf_kit.unit import View
from pf_queue.accounts.domain import User, is_user_name
from pf_queue.accounts.passwords import Passwords
from pf_queue.accounts.store import AccountStore
from pf_queue.accounts.throttle import Throttle


class Credentials:
    """Compares passwords with those kept, in the same time whether or not the user exists."""

    def __init__(self, *, store: AccountStore, passwords: Passwords, throttle: Throttle, clock: Clock) -> None:
        self._store = store
        self._passwords = passwords
        self._throttle = throttle
        self._clock = clock

    async def owner(self, view: View, name: str, password: str) -> User | None:
        """The user of this name, if this is its password. Raises TooManyAttempts after too many wrong ones."""
        if not is_user_name(name):
            return None
        # Counted inside of a turn: only as many attempts as there are threads are then counted before their time,
        # and many right logins at once are not taken for wrong ones.
        async with self._passwords.turn():
            begun = self._clock.monotonic()
            self._throttle.attempt(name, begun)
            user = await self._store.user(view, name)
            stored = user.password if user else self._passwords.decoy
            if not await self._passwords.matches(password, stored):
                return None
            self._throttle.right(name, begun)
            return user

    async def hash(self, password: str) -> str:
        """The password, hashed to be kept."""
        async with self._passwords.turn():
            return await self._passwords.hash(password)

    async def concealed(self, password: str, salt: str) -> str:
        """Equal for equal passwords, and as hard to guess from as what is kept of them."""
        async with self._passwords.turn():
            return await self._passwords.concealed(password, salt)

    def outdated(self, user: User) -> bool:
        """True if the user's password should be hashed anew, at today's cost."""
        return self._passwords.outdated(user.password)
