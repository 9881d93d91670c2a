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

    def is_taken(self, key: str) -> bool:
        """Somebody lives who serves it, even if nobody keeps it any more."""

    def abort(self, key: str) -> object:
        """Whoever begins to serve it, and does not serve it yet, is ended."""

    def clear(self, key: str) -> bool:
        """Nothing of it is left; False if something is still to be uploaded: then nothing is forgotten."""

    def leave(self, key: str) -> None:
        """Nobody uses it any more: who supervises it next goes on ending it."""

    def take_up(self, key: str) -> None:
        """Somebody uses it again."""

    def left_for(self, key: str) -> float | None:
        """For how many seconds nobody has used it; None if somebody does."""

    def forget(self, key: str) -> None:
        """What opens the storage; what was not uploaded is kept where it is."""

    def waits(self, key: str) -> bool:
        """Something was asked of the mount that is not answered, as the kernel says."""

    def answers(self, key: str) -> bool:
        """Whoever serves it answers who asks how it is, however slow its storage is."""

    def replace(self, key: str) -> None:
        """Whoever serves it is ended, and whoever keeps it goes on with another."""

    def break_off(self, key: str) -> None:
        """All that was asked of the mount fails, and nobody keeps it any more."""

    def known(self) -> Mapping[str, Mapping[str, Any] | None]:
        """Keys of which something is there, and what whoever serves them is to be told, if that is known."""
