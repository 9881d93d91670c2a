"""Changes that take effect once, however often their request arrives, and that are on record."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Generic, TypeVar

from google.protobuf.message import Message

from paddleflow.problems import Conflict, InvalidArgument, Violation
from pf_kit.call import Call, current_call
from pf_kit.principal import Principal
from pf_kit.unit import AuditEntry, Change, Database, Once

R = TypeVar("R", bound=Message)

ATTEMPTS = 3
MAX_REQUEST_ID = 64


class Mutations:
    """Runs the changes of one service."""

    def __init__(self, database: Database, secret: bytes) -> None:
        """The secret keys the digests of requests, some of which hold passwords."""
        self._database = database
        self._key = blake2b(secret, digest_size=32, person=b"request digest").digest()

    async def run(
        self,
        request: Message,
        reply_type: type[R],
        *,
        locks: Sequence[str],
        subject: str,
        work: Callable[[Change], Awaitable[R]],
    ) -> R:
        """The reply of the work, which is done at most once for each request id.

        All of it stands in one transaction, begun again if it loses against another one. A request without an id is
        not remembered. The reply is kept, so it must not hold a secret.
        """
        call, request_id = current_call(), request_id_of(request)
        once = Once(call.principal.label, call.method, request_id, self._digest(request)) if request_id else None
        attempt = _Attempt(reply_type, tuple(locks), once, audit_entry(call, subject, request_id), work)
        for _ in range(ATTEMPTS - 1):
            try:
                return await self._try(attempt)
            except Conflict:
                continue
        return await self._try(attempt)

    async def _try(self, attempt: _Attempt[R]) -> R:
        async with self._database.change(*attempt.locks) as change:
            return await attempt.run(change)

    def _digest(self, request: Message) -> bytes:
        bare = type(request)()
        bare.CopyFrom(request)
        bare.ClearField("request_id")
        return blake2b(bare.SerializeToString(deterministic=True), key=self._key, digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class _Attempt(Generic[R]):
    """What to do inside of the transaction."""

    reply_type: type[R]
    locks: tuple[str, ...]
    once: Once | None
    entry: AuditEntry
    work: Callable[[Change], Awaitable[R]]

    async def run(self, change: Change) -> R:
        if self.once is not None:
            stored = await change.replay(self.once)
            if stored is not None:
                return self.reply_type.FromString(stored)
        reply = await self.work(change)
        change.audit(self.entry)
        if self.once is not None:
            change.remember(self.once, reply.SerializeToString(deterministic=True))
        return reply


def request_id_of(request: Message) -> str:
    """The id that the caller gave its request; InvalidArgument if it cannot be one."""
    request_id: str = request.request_id  # type: ignore[attr-defined]  # the field that every mutation has
    if len(request_id) > MAX_REQUEST_ID:
        raise InvalidArgument.of(Violation("request_id", f"must have at most {MAX_REQUEST_ID} characters"))
    if not request_id.isascii() or not request_id.isprintable():
        raise InvalidArgument.of(Violation("request_id", "must consist of printable ASCII characters"))
    return request_id


def audit_entry(call: Call, subject: str, request_id: str) -> AuditEntry:
    """The record of a call's effect on a subject."""
    actor, on_behalf_of = _actor(call.principal)
    return AuditEntry(actor, on_behalf_of, call.method, subject, call.peer, request_id)


def _actor(principal: Principal) -> tuple[str, str]:
    if principal.acting_service:
        return f"service/{principal.acting_service}", principal.label
    return principal.label, ""
