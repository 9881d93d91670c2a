"""One page of a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items of a list, and where the list goes on."""

    items: Sequence[T]
    next_token: str
    """Fetches the next page; empty at the end."""
