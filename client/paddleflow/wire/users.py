"""Users, tokens and grants to and from the wire."""

from __future__ import annotations

from paddleflow.auth.v1 import auth_pb2
from paddleflow.models.users import Grant, Identity, NewToken, ResourceKind, Token, User
from paddleflow.wire.base import EnumCodec, build, time_from_wire

KIND = EnumCodec(ResourceKind, auth_pb2.ResourceKind, "RESOURCE_KIND_")


def user_from_wire(user: auth_pb2.User) -> User:
    return User(
        name=user.name,
        create_time=time_from_wire(user, "create_time"),
        update_time=time_from_wire(user, "update_time"),
        etag=user.etag,
    )


def token_from_wire(token: auth_pb2.Token) -> Token:
    return Token(
        id=token.id,
        user=token.user,
        description=token.description,
        create_time=time_from_wire(token, "create_time"),
        expire_time=time_from_wire(token, "expire_time"),
    )


def new_token_from_wire(reply: auth_pb2.LoginResponse | auth_pb2.CreateTokenResponse) -> NewToken:
    return NewToken(secret=reply.secret, token=token_from_wire(reply.token))


def grant_to_wire(grant: Grant) -> auth_pb2.Grant:
    return build(auth_pb2.Grant, user=grant.user, kind=KIND.number(grant.kind), resource=grant.resource)


def grant_from_wire(grant: auth_pb2.Grant) -> Grant:
    return Grant(
        user=grant.user,
        kind=KIND.member(grant.kind),
        resource=grant.resource,
        create_time=time_from_wire(grant, "create_time"),
    )


def identity_from_wire(reply: auth_pb2.WhoAmIResponse) -> Identity:
    return Identity(
        user=reply.user,
        service=reply.service,
        root=reply.root,
        expire_time=time_from_wire(reply, "expire_time"),
    )
