"""How a service joins an installation whose users and tokens another service keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grpc import aio

from paddleflow.auth.v1 import auth_pb2, auth_pb2_grpc
from paddleflow.common.v1 import info_pb2, info_pb2_grpc
from paddleflow.problems import Unavailable
from pf_kit.auth import AUTHORIZATION, TokenAuthenticator
from pf_kit.clock import Clock
from pf_kit.ids import new_id
from pf_kit.principal import PrincipalKind
from pf_kit.token_status import CachedTokenStatus, RemoteTokenStatus
from pf_kit.tokens import Claims, Signer, Verifier

LIFETIME = 3600
"""Seconds that a service's token lasts; it is made anew when half of them are over."""
START = 60.0
"""Seconds to wait for the other service: both may be starting."""


class ServiceToken:
    """The token with which a service calls others. It signs it itself."""

    def __init__(self, signer: Signer, installation: str, service: str, clock: Clock) -> None:
        self._signer = signer
        self._installation = installation
        self._subject = f"{PrincipalKind.SERVICE}/{service}"
        self._clock = clock
        self._secret = ""
        self._stale = 0.0

    def metadata(self) -> Sequence[tuple[str, str]]:
        """What to send with a call."""
        now = self._clock.now().timestamp()
        if now >= self._stale:
            issued = int(now)
            claims = Claims(self._installation, self._subject, new_id(), issued, issued + LIFETIME)
            self._secret, self._stale = self._signer.sign(claims), now + LIFETIME / 2
        return ((AUTHORIZATION, f"Bearer {self._secret}"),)


@dataclass(frozen=True, slots=True)
class Membership:
    """What a service knows of the installation it has joined."""

    installation: str
    token: ServiceToken
    authenticator: TokenAuthenticator
    """Knows callers by the tokens of the installation."""


async def join(channel: aio.Channel, service: str, signer: Signer, clock: Clock) -> Membership:
    """Asks the service that keeps the tokens, once it is there. Raises Unavailable if it does not come."""
    auth = auth_pb2_grpc.AuthServiceStub(channel)
    try:
        info = await info_pb2_grpc.InfoServiceStub(channel).GetInfo(
            info_pb2.GetInfoRequest(), wait_for_ready=True, timeout=START
        )
        keys = await auth.ListVerificationKeys(
            auth_pb2.ListVerificationKeysRequest(), wait_for_ready=True, timeout=START
        )
    except aio.AioRpcError as error:
        raise Unavailable(f"the service that keeps the tokens does not answer: {error.details()}") from None
    token = ServiceToken(signer, info.installation, service, clock)
    known = {key.id: key.public_key.encode() for key in keys.keys}
    status = CachedTokenStatus(RemoteTokenStatus(auth, token.metadata), clock)
    authenticator = TokenAuthenticator(Verifier(known, issuer=info.installation, clock=clock), status, clock)
    return Membership(info.installation, token, authenticator)
