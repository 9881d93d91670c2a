"""What the controller writes down of each volume that it makes, beside the volume."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from hashlib import blake2b

FOLDER = ".paddleflow-volumes"
RECORD_KEY = "record"
"""In what machines are told of a volume: the folder that its record is about."""
LARGEST = 1 << 16
_OWN = re.compile(r"csi-[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Record:
    """A volume."""

    name: str
    """Under which it was asked for."""
    size: int
    """Bytes that may lie in it; 0: any number."""
    parameters: str
    """What the class of the storage said, as a digest."""


def folder_of(name: str) -> str:
    """The folder of a volume: nothing of what somebody else has chosen is part of a path."""
    return f"csi-{blake2b(name.encode(), digest_size=16).hexdigest()}"


def is_folder(text: str) -> bool:
    return _OWN.fullmatch(text) is not None


def path_of(folder: str) -> str:
    """Where the record of a volume is; ValueError if that is none of ours."""
    if not is_folder(folder):
        raise ValueError("this is no volume of the controller")
    return f"{FOLDER}/{folder}.json"


def encode(record: Record) -> bytes:
    return json.dumps(asdict(record)).encode()


def decode(data: bytes) -> Record:
    """ValueError if it is none."""
    try:
        found = json.loads(data)
        return Record(str(found["name"]), int(found["size"]), str(found["parameters"]))
    except (TypeError, KeyError) as error:
        raise ValueError("this is no record of a volume") from error
