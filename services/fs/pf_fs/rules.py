"""Which folders may be shared at all, and which of them users may choose."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

USER = "{user}"
"""Stands for the owner's name in the folders that are set aside for users."""
NEVER = tuple(
    map(PurePosixPath, ("/boot", "/dev", "/etc", "/proc", "/root/.ssh", "/run", "/sys", "/var/run", "/var/spool/cron"))
)
"""Folders that make the machine what it is: whoever writes there, or reads some of them, is its master."""
SECRETS = frozenset({".aws", ".docker", ".gnupg", ".kube", ".paddleflow", ".ssh"})
"""Folders in which people keep what proves who they are, wherever they lie."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What an administrator and the machine forbid. All paths are without links, and so are those that are judged."""

    forbidden: tuple[PurePosixPath, ...] = NEVER

    def objection(self, folder: PurePosixPath) -> PurePosixPath | None:
        """The forbidden folder that lies in, or around, this one; None if there is none."""
        for forbidden in self.forbidden:
            if folder.is_relative_to(forbidden) or forbidden.is_relative_to(folder):
                return forbidden
        secret = next((part for part in folder.parts if part in SECRETS), None)
        return PurePosixPath(secret) if secret else None


def is_below(folder: PurePosixPath, roots: Iterable[PurePosixPath]) -> bool:
    """True if a folder is one of these, or lies below one."""
    return any(folder.is_relative_to(root) for root in roots)


def roots_of(owner: str, roots: Iterable[str]) -> tuple[PurePosixPath, ...]:
    """The folders that are set aside for this user."""
    return tuple(PurePosixPath(root.replace(USER, owner)) for root in roots)
