"""In which order shards are handed out, without a list of them."""

from __future__ import annotations

from hashlib import blake2b

ROUNDS = 4
"""Of a Feistel network; four make it look like chance (Luby and Rackoff, 1988)."""


def number_at(place: int, count: int, seed: int, pass_: int) -> int:
    """The number at a place of the order that a seed makes of `count` numbers for a pass.

    The numbers below the next power of four are permuted. One that is too high is permuted again, until it is not: so
    each number below `count` has exactly one place.
    """
    half = max(1, ((count - 1).bit_length() + 1) // 2)
    number = _permuted(place, half, seed, pass_)
    while number >= count:
        number = _permuted(number, half, seed, pass_)
    return number


def _permuted(number: int, half: int, seed: int, pass_: int) -> int:
    mask = (1 << half) - 1
    left, right = number >> half, number & mask
    for turn in range(ROUNDS):
        left, right = right, left ^ (_noise(seed, pass_, turn, right) & mask)
    return (left << half) | right


def _noise(seed: int, pass_: int, turn: int, half: int) -> int:
    said = f"{seed}/{pass_}/{turn}/{half}".encode()
    return int.from_bytes(blake2b(said, digest_size=8, person=b"shards").digest())
