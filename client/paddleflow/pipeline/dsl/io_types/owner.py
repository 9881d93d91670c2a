"""What a value knows of the component it belongs to."""

from __future__ import annotations

from typing import Protocol


class Owner(Protocol):
    """A component, to its values."""

    @property
    def name(self) -> str: ...

    @property
    def full_name(self) -> str:
        """Its name after those of the DAGs it is in, joined by dots."""
