"""The users, as the service that keeps them knows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grpc import aio

from paddleflow.auth.v1 import auth_pb2, auth_pb2_grpc
from paddleflow.problems import UserNotFound
from paddleflow.status import problem_of

ASK_SECONDS = 2.0
"""How long to wait for the answer."""
AT_ONCE = 1000
"""Users read by one call, where all are wanted."""


class RemoteUsers:
    """Fulfils `Users` by UserService."""

    def __init__(self, channel: aio.Channel, metadata: Callable[[], Sequence[tuple[str, str]]]) -> None:
        """The metadata hold the token of this service."""
        self._users: auth_pb2_grpc.UserServiceAsyncStub = auth_pb2_grpc.UserServiceStub(channel)
        self._metadata = metadata

    async def exists(self, name: str) -> bool:
        request = auth_pb2.GetUserRequest(name=name)
        try:
            await self._users.GetUser(request, metadata=self._metadata(), timeout=ASK_SECONDS)
        except aio.AioRpcError as error:
            problem = problem_of(error)
            if isinstance(problem, UserNotFound):
                return False
            raise problem from None
        return True

    async def all(self) -> frozenset[str]:
        names, request = set[str](), auth_pb2.ListUsersRequest(page_size=AT_ONCE)
        while True:
            try:
                reply = await self._users.ListUsers(request, metadata=self._metadata(), timeout=ASK_SECONDS)
            except aio.AioRpcError as error:
                raise problem_of(error) from None
            names.update(user.name for user in reply.users)
            if not reply.next_page_token:
                return frozenset(names)
            request.page_token = reply.next_page_token
