"""What would be fair, computed from guarantees and weights alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """What somebody wants of a whole that is shared."""

    guarantee: float
    weight: float
    wants: float


def fair_shares(total: float, claims: Mapping[str, Claim]) -> dict[str, float]:
    """Everybody's guarantee, and of what is left to each by weight, like water that rises in all until it is used up.

    Nobody gets more than it wants. The guarantees together are no more than the total.
    """
    shares = {name: min(claim.guarantee, claim.wants) for name, claim in claims.items()}
    left = total - sum(shares.values())
    thirsty = {name for name, claim in claims.items() if claim.wants > shares[name]}
    while thirsty and left > 0:
        level = left / sum(claims[name].weight for name in thirsty)
        room = {name: min(level * claims[name].weight, claims[name].wants - shares[name]) for name in thirsty}
        for name, amount in room.items():
            shares[name] += amount
        left -= sum(room.values())
        sated = {name for name in thirsty if room[name] < level * claims[name].weight}
        if not sated:
            break
        thirsty -= sated
    return shares
