"""Amounts of resources as people write them."""

from __future__ import annotations

from pf_job.specs.domain import CPU, MEMORY

_UNITS = {"Ei": 2**60, "Pi": 2**50, "Ti": 2**40, "Gi": 2**30, "Mi": 2**20, "Ki": 2**10}


def readable(resource: str, amount: int) -> str:
    """The shortest way to write the amount exactly: cores as ``1500m`` or ``2``, bytes as ``20Gi``."""
    if resource == CPU:
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if resource != MEMORY or not amount:
        return str(amount)
    unit, size = next(((unit, size) for unit, size in _UNITS.items() if amount % size == 0), ("", 1))
    return f"{amount // size}{unit}"
