"""Users, by UserService."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpc import aio

from paddleflow.auth.v1 import auth_pb2
from paddleflow.auth.v1.auth_pb2_grpc import UserServiceStub
from paddleflow.problems import UserNotFound
from pf_pipeline.peers_grpc.calls import Metadata, call

if TYPE_CHECKING:
    from paddleflow.auth.v1.auth_pb2_grpc import UserServiceAsyncStub

ANSWER_SECONDS = 5.0
"""How long the service may take."""


class RemoteUsers:
    """Fulfils `Users` of schedules."""

    def __init__(self, channel: aio.Channel, metadata: Metadata) -> None:
        self._users: UserServiceAsyncStub = UserServiceStub(channel)
        self._metadata = metadata

    async def exists(self, name: str) -> bool:
        request = auth_pb2.GetUserRequest(name=name)
        try:
            await call(self._users.GetUser, request, auth_pb2.GetUserResponse, self._metadata(), ANSWER_SECONDS)
        except UserNotFound:
            return False
        return True
