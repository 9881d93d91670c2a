"""Whoever serves mounts, however they are run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Served(Protocol):
    """Somebody serves the mount of a key."""

    @property
    def ended(self) -> int:
        """A descriptor that can be read once nobody keeps the mount any more."""

    def close(self) -> None:
        """Lets go of the descriptor."""


class Clients(Protocol):
    """Begins and ends those who serve mounts. All of it blocks.

    Processes of this machine are one kind. Another are pods, to which the holder hands what it has opened.
    """

    def begin(self, key: str, mount: Mapping[str, Any]) -> Served:
        """Somebody serves the mount when this returns: whoever did before, or another. Refusal."""

    def found(self, key: str) -> Served | None:
        """Whoever serves it already; None if nobody does."""

    def renew(self, key: str, properties: Mapping[str, str]) -> None:
        """Says what opens the storage from now on."""

    def refresh(self, key: str) -> None:
        """Whoever serves it is told how large the volume may become by now. Refusal if nobody knows."""

    def unmount(self, key: str) -> None:
        """Takes the mount off its place. Whoever serves it finishes, and ends."""

    def end(self, key: str, waited: float) -> object:
        """Whoever serves it and hangs is ended; who is uploading is not. It was unmounted so many seconds ago."""

    def abort(self, key: str) -> object:
        """Whoever begins to serve it, and does not serve it yet, is ended."""

    def clear(self, key: str) -> bool:
        """Nothing of it is left; False if what could not be uploaded is."""

    def known(self) -> Mapping[str, Mapping[str, Any] | None]:
        """Keys of which something is there, and what whoever serves them is to be told, if that is known."""
