"""What the tree of a mount needs of the parts beside it."""

from __future__ import annotations

from typing import Protocol

from pf_backends.entries import Entry
from pf_fuse.coming import Coming
from pf_fuse.operations import Answer, Bytes, Kernel


class Content(Protocol):
    """The bytes of one version of a file, while it is open. Used by one thread at a time but for `read`'s futures."""

    def read(self, offset: int, size: int) -> Answer[Bytes]:
        """As `Operations.read`; ESTALE if the version is there no more and was not kept."""

    def whole(self) -> int | None:
        """A descriptor of a local file that has all of it and was checked; None if there is none so far.

        What it has stays as it is for as long as the content is open.
        """

    def close(self) -> None: ...


class Nothing:
    """What a file has that was begun here."""

    def read(self, offset: int, size: int) -> Bytes:  # noqa: ARG002 - there is nothing at any offset
        return b""

    def whole(self) -> None:
        return None

    def close(self) -> None:
        """Nothing is open."""


class Contents(Protocol):
    """Where bytes come from."""

    def begin(self, kernel: Kernel) -> None:
        """The mount is there."""

    def open(self, entry: Entry) -> Content:
        """The version of a file that an entry tells of. Quick: what takes longer is done when it is read."""

    def at_hand(self, entry: Entry) -> bool:
        """True if all of that version is here and was checked, as far as that is known without looking."""

    def bring(self, entry: Entry) -> Entry | None:
        """Brings a small file here, and says what lies there as the backend tells with its bytes. Blocks.

        None if it is here already or too large, or if it is another version by now.
        """

    def alone(self) -> None:
        """Nobody hears other processes any more."""

    def coming(self, entry: Entry) -> Coming | None:
        """As `bring`, without blocking: who gets nothing at once has to ask for it by `bring`."""
