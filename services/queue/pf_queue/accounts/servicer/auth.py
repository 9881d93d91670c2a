"""AuthService on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from paddleflow.auth.v1 import auth_pb2, auth_pb2_grpc
from pf_kit.call import current_call
from pf_kit.fields import require
from pf_kit.ids import new_id
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.token_status import CachedTokenStatus
from pf_kit.unit import AuditEntry, Change, Database
from pf_kit.wire import timestamp
from pf_queue.accounts.convert import given, grant_key, identity, lifetime_of, token_message
from pf_queue.accounts.service import Grants, Tokens
from pf_queue.accounts.servicer.issuer import Issuer
from pf_queue.accounts.store import LOCK


class AuthServicer(auth_pb2_grpc.AuthServiceServicer):
    """Gives out tokens and answers what they may do."""

    def __init__(
        self,
        *,
        database: Database,
        mutations: Mutations,
        lists: Lists,
        tokens: Tokens,
        grants: Grants,
        issuer: Issuer,
        status: CachedTokenStatus,
    ) -> None:
        """The status is the one by which this process knows its callers."""
        self._database = database
        self._mutations = mutations
        self._lists = lists
        self._tokens = tokens
        self._grants = grants
        self._issuer = issuer
        self._status = status

    async def Login(self, request: auth_pb2.LoginRequest, _context: object) -> auth_pb2.LoginResponse:
        login = await self._tokens.draft_login(self._database.newest, request.user, request.password)
        token_id, call = new_id(), current_call()
        async with self._database.change(LOCK) as change:
            token = await self._tokens.log_in(change, login, token_id)
            change.audit(AuditEntry(f"user/{token.user}", "", call.method, f"token/{token.id}", call.peer, ""))
        message = token_message(token)
        return auth_pb2.LoginResponse(secret=self._issuer.secret(message), token=message)

    async def WhoAmI(self, _request: auth_pb2.WhoAmIRequest, _context: object) -> auth_pb2.WhoAmIResponse:
        return identity(current_call().principal)

    async def CreateToken(self, request: auth_pb2.CreateTokenRequest, _context: object) -> auth_pb2.CreateTokenResponse:
        caller, lifetime = current_call().principal, lifetime_of(request)
        new = self._tokens.draft(caller, new_id(), request.user, request.description, lifetime)

        async def work(change: Change) -> auth_pb2.CreateTokenResponse:
            return auth_pb2.CreateTokenResponse(token=token_message(await self._tokens.create(change, new)))

        reply = await self._mutations.run(
            request, auth_pb2.CreateTokenResponse, locks=(LOCK,), subject=f"token/{new.id}", work=work
        )
        return auth_pb2.CreateTokenResponse(secret=self._issuer.secret(reply.token), token=reply.token)

    async def ListTokens(self, request: auth_pb2.ListTokensRequest, _context: object) -> auth_pb2.ListTokensResponse:
        view, caller = self._database.newest, current_call().principal
        page = await self._lists.page(
            request,
            lambda after, limit: self._tokens.page(view, caller, request.user, after, limit),
            lambda token: str(token.place),
        )
        return auth_pb2.ListTokensResponse(tokens=map(token_message, page.things), next_page_token=page.next_token)

    async def RevokeToken(self, request: auth_pb2.RevokeTokenRequest, _context: object) -> auth_pb2.RevokeTokenResponse:
        require(given("id", request.id))
        caller = current_call().principal

        async def work(change: Change) -> auth_pb2.RevokeTokenResponse:
            await self._tokens.revoke(change, caller, request.id)
            return auth_pb2.RevokeTokenResponse()

        with self._forgotten(request.id):
            return await self._mutations.run(
                request, auth_pb2.RevokeTokenResponse, locks=(LOCK,), subject=f"token/{request.id}", work=work
            )

    async def ListVerificationKeys(
        self, _request: auth_pb2.ListVerificationKeysRequest, _context: object
    ) -> auth_pb2.ListVerificationKeysResponse:
        return auth_pb2.ListVerificationKeysResponse(keys=self._issuer.keys())

    async def CheckToken(self, request: auth_pb2.CheckTokenRequest, _context: object) -> auth_pb2.CheckTokenResponse:
        # Not answered from the cache: whoever asks keeps the answer, and the ages of both would add up.
        async with self._database.snapshot() as view:
            found = await self._tokens.good(view, request.id)
        if found is None:
            return auth_pb2.CheckTokenResponse(good=False)
        return auth_pb2.CheckTokenResponse(
            good=True, user=found.name, root=found.root, user_since=timestamp(found.create_time)
        )

    async def CheckAccess(self, request: auth_pb2.CheckAccessRequest, _context: object) -> auth_pb2.CheckAccessResponse:
        key = grant_key(request.user, request.kind, request.resource)
        return auth_pb2.CheckAccessResponse(allowed=await self._grants.allowed(self._database.newest, key))

    @contextmanager
    def _forgotten(self, token_id: str) -> Iterator[None]:
        """Looks at the token anew afterwards, also if the call is broken off: it may have been committed."""
        try:
            yield
        finally:
            self._status.forget(token_id)
