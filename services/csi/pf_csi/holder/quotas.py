"""How large a volume may become: the controller writes it down beside the volume, and may change it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pf_backends.opening import Surroundings, open_backend
from pf_csi.records import LARGEST, decode, path_of
from pf_csi.refusals import of_error

_PATIENCE = 10.0


def recorded_quota(mount: Mapping[str, Any]) -> int | None:
    """In bytes; None if nothing is written down. Refusal if nobody can tell."""
    record = str(mount.get("record", ""))
    if not record:
        return None
    above, _, _ = str(mount["url"]).rstrip("/").rpartition("/")
    around = Surroundings(read_only=True, deadline=_PATIENCE)
    try:
        backend = open_backend(above, mount["properties"], around)
        try:
            _, data = backend.fetch(path_of(record), limit=LARGEST)
        finally:
            backend.close()
        return decode(data).size or None
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        if isinstance(error, OSError):
            raise of_error(error, "the size of the volume cannot be read") from None
        return None
