"""Why a mount could not be made, in words that help whoever reads the events of a pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pf_backends.errors import Malformed
from pf_backends.opening import Surroundings, open_backend
from pf_csi.refusals import Refusal, Why, of_error

_PATIENCE = 10.0


def diagnosed(mount: Mapping[str, Any], text: str) -> Refusal:
    """The storage is asked once more, which tells better what is wrong; else the client's last words."""
    doing = f"{mount['url']} cannot be mounted"
    try:
        backend = open_backend(mount["url"], mount["properties"], Surroundings(read_only=True, deadline=_PATIENCE))
        try:
            backend.check()
        finally:
            backend.close()
    except Malformed as error:
        return Refusal(Why.MALFORMED, f"{doing}: {error}")
    except OSError as error:
        return of_error(error, doing)
    return Refusal(Why.UNREADY, f"{doing}: {text}")
