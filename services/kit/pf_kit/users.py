"""The users, for services other than the one that keeps them: who there is, and who is there no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from grpc import aio

from paddleflow.auth.v1 import auth_pb2, auth_pb2_grpc
from paddleflow.common.v1 import event_pb2
from paddleflow.problems import UserNotFound
from paddleflow.status import problem_of
from pf_kit.events import Event

ASK_SECONDS = 2.0
"""How long to wait for the answer."""
AT_ONCE = 1000
"""Users read by one call, where all are wanted."""
USER_EVENT = auth_pb2.UserEvent.DESCRIPTOR.full_name


class RemoteUsers:
    """Asks UserService."""

    def __init__(self, channel: aio.Channel, metadata: Callable[[], Sequence[tuple[str, str]]]) -> None:
        """The metadata hold the token of this service."""
        self._users: auth_pb2_grpc.UserServiceAsyncStub = auth_pb2_grpc.UserServiceStub(channel)
        self._metadata = metadata

    async def since(self, name: str) -> datetime:
        """When the user of a name was added. Raises UserNotFound, and Unavailable if nobody can tell."""
        request = auth_pb2.GetUserRequest(name=name)
        try:
            reply = await self._users.GetUser(request, metadata=self._metadata(), timeout=ASK_SECONDS)
        except aio.AioRpcError as error:
            raise problem_of(error) from None
        return _since(reply.user)

    async def exists(self, name: str) -> bool:
        """True if there is a user of this name. Raises Unavailable if nobody can tell."""
        try:
            await self.since(name)
        except UserNotFound:
            return False
        return True

    async def all(self) -> Mapping[str, datetime]:
        """The names of all, and when each was added. Raises Unavailable if nobody can tell."""
        found, request = dict[str, datetime](), auth_pb2.ListUsersRequest(page_size=AT_ONCE)
        while True:
            try:
                reply = await self._users.ListUsers(request, metadata=self._metadata(), timeout=ASK_SECONDS)
            except aio.AioRpcError as error:
                raise problem_of(error) from None
            found.update((user.name, _since(user)) for user in reply.users)
            if not reply.next_page_token:
                return found
            request.page_token = reply.next_page_token


def departed(event: Event) -> str | None:
    """The name of the user who was deleted, if an event tells that."""
    if event.fact.type != USER_EVENT:
        return None
    told = auth_pb2.UserEvent.FromString(event.fact.payload)
    return told.user.name if told.kind == event_pb2.CHANGE_KIND_DELETED else None


def _since(user: auth_pb2.User) -> datetime:
    return user.create_time.ToDatetime(UTC)
