"""The keys of the installation, and the tokens signed with them."""

from __future__ import annotations

from collections.abc import Sequence

from paddleflow.auth.v1 import auth_pb2
from pf_kit.tokens import Signer, key_id
from pf_queue.accounts.convert import claims_of


class Issuer:
    """Signs tokens, always with the newest key."""

    def __init__(self, *, signer: Signer, installation: str, older_keys: Sequence[bytes]) -> None:
        """The older keys are public keys in PEM: what they signed stays good until its time is over."""
        self._signer = signer
        self._installation = installation
        self._keys = (signer.public_key, *older_keys)

    def secret(self, token: auth_pb2.Token) -> str:
        """What the owner of the token sends with its calls. The same for the same token, so it need not be kept."""
        return self._signer.sign(claims_of(token, self._installation))

    def keys(self) -> Sequence[auth_pb2.VerificationKey]:
        """All keys whose tokens are good; the first one signs."""
        return [auth_pb2.VerificationKey(id=key_id(key), public_key=key.decode()) for key in self._keys]
