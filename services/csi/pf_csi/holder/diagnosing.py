"""Why a mount could not be made, in words that help whoever reads the events of a pod."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from pf_backends.errors import Malformed
from pf_backends.opening import Surroundings, open_backend
from pf_csi.refusals import Refusal, Why, of_error

_PATIENCE = 10.0
_SOON = 4.0
"""Seconds; a client takes longer to give up, since it is to bear what passes."""


def diagnosed(mount: Mapping[str, Any], text: str) -> Refusal:
    """The storage is asked once more, which tells better what is wrong; else the client's last words."""
    return _asked(mount, _PATIENCE) or Refusal(Why.UNREADY, f"{_doing(mount)}: {text}")


def check_soon(mount: Mapping[str, Any]) -> bool:
    """Whether the storage answers, or says nothing. Refusal if it refuses at once: who waits for a pod reads that."""
    begun = time.monotonic()
    refusal = _asked(mount, _SOON)
    if refusal is not None and time.monotonic() - begun < _SOON:
        raise refusal
    return refusal is None


def _asked(mount: Mapping[str, Any], patience: float) -> Refusal | None:
    """Why it cannot be mounted; None if it can."""
    try:
        backend = open_backend(mount["url"], mount["properties"], Surroundings(read_only=True, deadline=patience))
        try:
            backend.check()
        finally:
            backend.close()
    except Malformed as error:
        return Refusal(Why.MALFORMED, f"{_doing(mount)}: {error}")
    except OSError as error:
        return of_error(error, _doing(mount))
    return None


def _doing(mount: Mapping[str, Any]) -> str:
    return f"{mount['url']} cannot be mounted"
