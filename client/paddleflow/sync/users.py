# Written by tools/generate_sync.py from paddleflow/aio/users.py; change it there.
"""Users, their tokens, and what is granted to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Unpack

from paddleflow.auth.v1 import auth_pb2, auth_pb2_grpc
from paddleflow.models.pages import Page
from paddleflow.models.users import Grant, GrantFilter, Identity, NewToken, ResourceKind, Token, User
from paddleflow.models.watches import Change, WatchItem
from paddleflow.sync.pages import every
from paddleflow.sync.session import Session
from paddleflow.sync.watch import watch
from paddleflow.wire.audit import CHANGE_KIND
from paddleflow.wire.base import build, duration_to_wire
from paddleflow.wire.users import (
    KIND,
    grant_from_wire,
    grant_to_wire,
    identity_from_wire,
    new_token_from_wire,
    token_from_wire,
    user_from_wire,
)


class Users:
    """Those who may call. Everything but the change of one's own password is for root."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._stub: auth_pb2_grpc.UserServiceStub = auth_pb2_grpc.UserServiceStub(session.channel)

    def create(self, name: str, password: str, *, request_id: str = "") -> User:
        """Adds a user."""
        request = build(auth_pb2.CreateUserRequest, user=build(auth_pb2.User, name=name), password=password)
        reply = self._session.change(self._stub.CreateUser, request, request_id)
        return user_from_wire(reply.user)

    def get(self, name: str) -> User:
        reply = self._session.call(self._stub.GetUser, build(auth_pb2.GetUserRequest, name=name))
        return user_from_wire(reply.user)

    def list(self) -> Iterator[User]:
        """The users, by name; fetches page after page."""
        return every(self.page)

    def page(self, size: int = 0, token: str = "") -> Page[User]:
        """One page of the list: at most `size` users (0: as many as the server likes) from the token on."""
        request = build(auth_pb2.ListUsersRequest, page_size=size, page_token=token)
        reply = self._session.call(self._stub.ListUsers, request)
        return Page([user_from_wire(user) for user in reply.users], reply.next_page_token)

    def set_password(self, new_password: str, *, name: str = "", old_password: str = "", request_id: str = "") -> None:
        """Gives a user (empty: the caller) a new password, and ends all its tokens.

        Root need not know the old one of others. After a change of one's own the client logs in with the new one,
        unless it was made with a token.
        """
        request = build(auth_pb2.SetPasswordRequest, name=name, old_password=old_password, new_password=new_password)
        if name in ("", self._session.connection.user):
            self._session.change_password(self._stub.SetPassword, request, request_id)
        else:
            self._session.change(self._stub.SetPassword, request, request_id)

    def delete(self, name: str, *, etag: str = "", request_id: str = "") -> None:
        """Removes a user, its tokens and its grants."""
        request = build(auth_pb2.DeleteUserRequest, name=name, etag=etag)
        self._session.change(self._stub.DeleteUser, request, request_id)

    def watch(self, *, resume_token: str = "") -> Iterator[WatchItem[User]]:
        """The users as they are, then every change, for ever; resumes by itself when the stream breaks."""
        request = build(auth_pb2.WatchUsersRequest, resume_token=resume_token)
        return watch(self._session, self._stub.WatchUsers, request, _user_changes)


class Tokens:
    """What callers prove themselves with."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._stub: auth_pb2_grpc.AuthServiceStub = auth_pb2_grpc.AuthServiceStub(session.channel)

    def log_in(self) -> NewToken:
        """Makes a new token of the name and the password of this connection, and uses it from now on.

        There is rarely a need to: the first call logs in by itself.
        """
        return self._session.log_in()

    def who_am_i(self) -> Identity:
        """Whom the token in use belongs to."""
        reply = self._session.call(self._stub.WhoAmI, auth_pb2.WhoAmIRequest())
        return identity_from_wire(reply)

    def create(
        self, description: str, *, lifetime: timedelta | None = None, user: str = "", request_id: str = ""
    ) -> NewToken:
        """Makes a token for a program of the caller's, or, for root, of the user's."""
        request = build(
            auth_pb2.CreateTokenRequest,
            user=user,
            description=description,
            lifetime=None if lifetime is None else duration_to_wire("lifetime", lifetime),
        )
        reply = self._session.change(self._stub.CreateToken, request, request_id)
        return new_token_from_wire(reply)

    def list(self, *, user: str = "") -> Iterator[Token]:
        """The caller's tokens that are still good (root: everybody's, or the user's), newest first."""
        return every(lambda size, token: self.page(size, token, user=user))

    def page(self, size: int = 0, token: str = "", *, user: str = "") -> Page[Token]:
        """One page of the list: at most `size` tokens (0: as many as the server likes) from the page token on."""
        request = build(auth_pb2.ListTokensRequest, user=user, page_size=size, page_token=token)
        reply = self._session.call(self._stub.ListTokens, request)
        return Page([token_from_wire(each) for each in reply.tokens], reply.next_page_token)

    def revoke(self, token_id: str, *, request_id: str = "") -> None:
        """Ends a token: every service refuses it within 5 seconds."""
        request = build(auth_pb2.RevokeTokenRequest, id=token_id)
        self._session.change(self._stub.RevokeToken, request, request_id)


class Grants:
    """Who may use which queue and which filesystem."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._stub: auth_pb2_grpc.GrantServiceStub = auth_pb2_grpc.GrantServiceStub(session.channel)

    def create(self, grant: Grant, *, request_id: str = "") -> Grant:
        """Lets a user use a resource."""
        request = build(auth_pb2.CreateGrantRequest, grant=grant_to_wire(grant))
        reply = self._session.change(self._stub.CreateGrant, request, request_id)
        return grant_from_wire(reply.grant)

    def list(self, **chosen: Unpack[GrantFilter]) -> Iterator[Grant]:
        """The grants, by user and resource; a user sees its own. Fetches page after page."""
        return every(lambda size, token: self.page(size, token, **chosen))

    def page(self, size: int = 0, token: str = "", **chosen: Unpack[GrantFilter]) -> Page[Grant]:
        """One page of the list: at most `size` grants (0: as many as the server likes) from the token on."""
        request = build(
            auth_pb2.ListGrantsRequest,
            user=chosen.get("user", ""),
            kind=KIND.number(chosen.get("kind", ResourceKind.UNSPECIFIED)),
            resource=chosen.get("resource", ""),
            page_size=size,
            page_token=token,
        )
        reply = self._session.call(self._stub.ListGrants, request)
        return Page([grant_from_wire(grant) for grant in reply.grants], reply.next_page_token)

    def delete(self, grant: Grant, *, request_id: str = "") -> None:
        """Takes a grant back: every service refuses within 5 seconds."""
        request = build(auth_pb2.DeleteGrantRequest, grant=grant_to_wire(grant))
        self._session.change(self._stub.DeleteGrant, request, request_id)

    def watch(self, *, resume_token: str = "") -> Iterator[WatchItem[Grant]]:
        """The grants as they are, then every change, for ever; resumes by itself when the stream breaks."""
        request = build(auth_pb2.WatchGrantsRequest, resume_token=resume_token)
        return watch(self._session, self._stub.WatchGrants, request, _grant_changes)


def _user_changes(message: auth_pb2.WatchUsersResponse) -> Sequence[Change[User]]:
    return [Change(CHANGE_KIND.member(event.kind), user_from_wire(event.user)) for event in message.events]


def _grant_changes(message: auth_pb2.WatchGrantsResponse) -> Sequence[Change[Grant]]:
    return [Change(CHANGE_KIND.member(event.kind), grant_from_wire(event.grant)) for event in message.events]
