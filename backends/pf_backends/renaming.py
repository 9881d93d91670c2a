"""What can be renamed to what, where the places of a backend differ."""

from __future__ import annotations

from pf_backends.entries import Renames
from pf_backends.port import Backend, Manifold


def renames_at(backend: Backend, path: str) -> Renames:
    """What is renamed at once where a path leads."""
    can = backend.capabilities_at(path) if isinstance(backend, Manifold) else backend.capabilities
    return can.renames


def require_renamable(backend: Backend, source: str, target: str) -> None:
    """Fails if one cannot become the other, not even by copies."""
    if isinstance(backend, Manifold):
        backend.require_renamable(source, target)
