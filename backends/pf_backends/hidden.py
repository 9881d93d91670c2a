"""Files that are not whole yet lie beside those that they are to be, under names that nobody else may use."""

from __future__ import annotations

import errno
import secrets

from pf_backends.errors import failure

OWN = ".pf~"
"""How such names begin."""


def own_name() -> str:
    return OWN + secrets.token_hex(16)


def require_foreign(path: str) -> None:
    """Raises PermissionError for a path with such a name."""
    if OWN in path and any(name.startswith(OWN) for name in path.split("/")):
        raise failure(errno.EPERM, path, f"names that begin with {OWN} are PaddleFlow's own")
