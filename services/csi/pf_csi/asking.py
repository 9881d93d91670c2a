"""What is the same in requests of both services."""

from __future__ import annotations

from pf_csi.contract import csi_pb2 as pb
from pf_csi.refusals import Refusal, Why

_MODE = pb.VolumeCapability.AccessMode
_MODES = frozenset(_MODE.Mode.values()) - {_MODE.UNKNOWN}


def needed(text: str, name: str) -> str:
    if not text:
        raise Refusal(Why.MALFORMED, f"{name} must be given")
    return text


def check_capability(capability: pb.VolumeCapability) -> None:
    """Refusal of what nobody can have."""
    if capability.access_mode.mode not in _MODES:
        raise Refusal(Why.MALFORMED, "volume_capability: access_mode is not known")
    if capability.WhichOneof("access_type") != "mount":
        raise Refusal(Why.MALFORMED, "volumes are folders, not devices: set volumeMode to Filesystem")
