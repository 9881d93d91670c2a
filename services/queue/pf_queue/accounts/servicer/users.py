"""UserService on the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from paddleflow.auth.v1 import auth_pb2, auth_pb2_grpc
from pf_kit.call import current_call
from pf_kit.events import Event
from pf_kit.fields import require
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.token_status import CachedTokenStatus
from pf_kit.unit import Change, Database, View
from pf_kit.watch import Watches
from pf_queue.accounts.convert import USER_EVENT, existing_user, given, user_message
from pf_queue.accounts.service import Credentials, Users
from pf_queue.accounts.service.grants import RESOURCES_LOCK
from pf_queue.accounts.store import LOCK

R = TypeVar("R", auth_pb2.CreateUserRequest, auth_pb2.SetPasswordRequest)


class UserServicer(auth_pb2_grpc.UserServiceServicer):
    """Keeps the users."""

    def __init__(
        self,
        *,
        database: Database,
        mutations: Mutations,
        lists: Lists,
        watches: Watches,
        users: Users,
        credentials: Credentials,
        status: CachedTokenStatus,
    ) -> None:
        """The status is the one by which this process knows its callers."""
        self._database = database
        self._mutations = mutations
        self._lists = lists
        self._watches = watches
        self._users = users
        self._credentials = credentials
        self._status = status

    async def CreateUser(self, request: auth_pb2.CreateUserRequest, _context: object) -> auth_pb2.CreateUserResponse:
        new = await self._users.draft(request.user.name, request.password)

        async def work(change: Change) -> auth_pb2.CreateUserResponse:
            return auth_pb2.CreateUserResponse(user=user_message(await self._users.create(change, new)))

        return await self._mutations.run(
            await self._concealed(request, "password"),
            auth_pb2.CreateUserResponse,
            locks=(LOCK,),
            subject=f"user/{new.name}",
            work=work,
        )

    async def GetUser(self, request: auth_pb2.GetUserRequest, _context: object) -> auth_pb2.GetUserResponse:
        require(given("name", request.name))
        user = await self._users.get(self._database.newest, current_call().principal, request.name)
        return auth_pb2.GetUserResponse(user=user_message(user))

    async def ListUsers(self, request: auth_pb2.ListUsersRequest, _context: object) -> auth_pb2.ListUsersResponse:
        view = self._database.newest
        page = await self._lists.page(
            request, lambda after, limit: self._users.page(view, after, limit), lambda user: user.name
        )
        return auth_pb2.ListUsersResponse(users=map(user_message, page.things), next_page_token=page.next_token)

    async def SetPassword(self, request: auth_pb2.SetPasswordRequest, _context: object) -> auth_pb2.SetPasswordResponse:
        view, caller = self._database.newest, current_call().principal
        new = await self._users.draft_password(view, caller, request.name, request.old_password, request.new_password)

        async def work(change: Change) -> auth_pb2.SetPasswordResponse:
            await self._users.set_password(change, new)
            return auth_pb2.SetPasswordResponse()

        concealed = await self._concealed(request, "old_password", "new_password")
        with self._status_cleared():
            return await self._mutations.run(
                concealed, auth_pb2.SetPasswordResponse, locks=(LOCK,), subject=f"user/{new.user}", work=work
            )

    async def DeleteUser(self, request: auth_pb2.DeleteUserRequest, _context: object) -> auth_pb2.DeleteUserResponse:
        require(given("name", request.name))

        async def work(change: Change) -> auth_pb2.DeleteUserResponse:
            await self._users.delete(change, request.name, request.etag)
            return auth_pb2.DeleteUserResponse()

        with self._status_cleared():
            return await self._mutations.run(
                request,
                auth_pb2.DeleteUserResponse,
                locks=(LOCK, RESOURCES_LOCK),
                subject=f"user/{request.name}",
                work=work,
            )

    async def WatchUsers(
        self, request: auth_pb2.WatchUsersRequest, _context: object
    ) -> AsyncIterator[auth_pb2.WatchUsersResponse]:
        async for page in self._watches.watch(request.resume_token, existing=self._existing, changes=self._changes):
            yield auth_pb2.WatchUsersResponse(
                events=page.messages, resume_token=page.resume_token, bookmark=page.bookmark
            )

    async def _existing(self, view: View) -> Sequence[auth_pb2.UserEvent]:
        return [existing_user(user) for user in await self._users.all(view)]

    async def _changes(self, event: Event) -> Sequence[auth_pb2.UserEvent]:
        return [auth_pb2.UserEvent.FromString(event.fact.payload)] if event.fact.type == USER_EVENT else []

    @contextmanager
    def _status_cleared(self) -> Iterator[None]:
        """Looks at every token anew afterwards, also if the call is broken off: it may have been committed."""
        try:
            yield
        finally:
            self._status.clear()

    async def _concealed(self, request: R, *fields: str) -> R:
        """The request as it may be digested: a digest of passwords would be a quick way to guess them."""
        copy = type(request)()
        copy.CopyFrom(request)
        for name in fields:
            if request.request_id and (password := getattr(request, name)):
                setattr(copy, name, await self._credentials.concealed(password, request.request_id))
        return copy
