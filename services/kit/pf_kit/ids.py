"""Ids that sort by the time they were made."""

from __future__ import annotations

import secrets
import time
import uuid


def new_id() -> str:
    """A UUID of version 7: 48 bits of milliseconds, then chance. Made here because Postgres only does it from 18 on."""
    stamp = time.time_ns() // 1_000_000
    value = stamp << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=value))
