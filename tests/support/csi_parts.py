"""Parts of the driver that do nothing, for what does not need them."""

from __future__ import annotations

from typing import Any


class NoClients:
    """Nothing is mounted."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)
