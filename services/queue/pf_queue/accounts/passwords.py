"""Passwords: what makes one good enough, how it is stored, and who may hash when.

A stored password is a string in the form of the Password Hashing Competition,
``$scrypt$ln=14,r=8,p=1$<salt>$<digest>``. It names its own cost, so that the cost can be raised: old strings are
still understood, and are written anew at the next login.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import ParamSpec, TypeVar

from paddleflow.problems import Overloaded

P = ParamSpec("P")
R = TypeVar("R")

SHORTEST = 6
LONGEST = 128
SALT_BYTES = 16
DIGEST_BYTES = 32
STORED = re.compile(r"\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)")


def weakness(password: str) -> str:
    """What the password lacks, as a phrase after "must"; empty if it is strong enough."""
    lacks = []
    if len(password) < SHORTEST:
        lacks.append(f"have at least {SHORTEST} characters")
    if not re.search(r"[0-9]", password):
        lacks.append("contain a digit")
    if not re.search(r"[a-z]", password):
        lacks.append("contain a lower-case letter")
    return ", ".join(lacks)


@dataclass(frozen=True, slots=True)
class Cost:
    """How much work one guess is: these are scrypt's parameters, and need 16 MiB and some 40 ms."""

    log2_n: int = 14
    r: int = 8
    p: int = 1

    def digest(self, password: str, salt: bytes) -> bytes:
        n = 1 << self.log2_n
        # OpenSSL counts a little more than the 128·n·r bytes of the algorithm itself.
        room = 256 * self.r * (n + self.p)
        return hashlib.scrypt(password.encode(), salt=salt, n=n, r=self.r, p=self.p, maxmem=room, dklen=DIGEST_BYTES)


STANDARD = Cost()


@dataclass(frozen=True, slots=True)
class StoredPassword:
    """A password as it is kept."""

    cost: Cost
    salt: bytes
    digest: bytes = field(repr=False)

    def __str__(self) -> str:
        head = f"$scrypt$ln={self.cost.log2_n},r={self.cost.r},p={self.cost.p}"
        return f"{head}${b64encode(self.salt).decode()}${b64encode(self.digest).decode()}"

    @classmethod
    def parse(cls, text: str) -> StoredPassword:
        """The stored password of this string; ValueError if it is none."""
        found = STORED.fullmatch(text)
        if found is None:
            raise ValueError("not a stored password")
        ln, r, p, salt, digest = found.groups()
        return cls(Cost(int(ln), int(r), int(p)), b64decode(salt), b64decode(digest))

    @classmethod
    def of(cls, password: str, cost: Cost) -> StoredPassword:
        salt = secrets.token_bytes(SALT_BYTES)
        return cls(cost, salt, cost.digest(password, salt))

    def matches(self, password: str) -> bool:
        return hmac.compare_digest(self.cost.digest(password, self.salt), self.digest)


class Passwords:
    """Hashes passwords in threads of its own, a few at a time, so that a flood of logins starves nothing else."""

    def __init__(self, *, cost: Cost = STANDARD, threads: int = 2, waiting: int = 64) -> None:
        self._cost = cost
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="password")
        self._free = asyncio.Semaphore(threads)
        self._room = threads + waiting
        self.decoy = str(StoredPassword(cost, secrets.token_bytes(SALT_BYTES), secrets.token_bytes(DIGEST_BYTES)))
        """Matches nothing, and costs what a real one costs: for names that nobody has."""

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Waits for a thread to be free; Overloaded if too many wait. Every hash is made inside of a turn."""
        if self._room == 0:
            raise Overloaded("too many passwords wait to be checked; try again after the delay", retry_after=1.0)
        self._room -= 1
        try:
            async with self._free:
                yield
        finally:
            self._room += 1

    async def hash(self, password: str) -> str:
        return str(await self._in_thread(StoredPassword.of, password, self._cost))

    async def concealed(self, password: str, salt: str) -> str:
        return (await self._in_thread(self._cost.digest, password, salt.encode())).hex()

    async def matches(self, password: str, stored: str) -> bool:
        return await self._in_thread(StoredPassword.parse(stored).matches, password)

    def outdated(self, stored: str) -> bool:
        """True if the password was stored at another cost than passwords are stored now."""
        return StoredPassword.parse(stored).cost != self._cost

    async def _in_thread(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *args, **kwargs))
