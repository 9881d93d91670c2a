"""Comparing large contents: how pytest tells two of them apart takes minutes for some MiB."""

from __future__ import annotations

from typing import TypeAlias

Content: TypeAlias = "bytes | bytearray | memoryview"
PIECE = 4096


def first_difference(found: Content, expected: Content) -> str:
    """Where two contents begin to differ, and with what; nothing if they are the same."""
    if found == expected:
        return ""
    for start in range(0, max(len(found), len(expected)), PIECE):
        one, other = bytes(found[start : start + PIECE]), bytes(expected[start : start + PIECE])
        if one != other:
            return f"from {start} on: {one[:16]!r} of {len(found)}, not {other[:16]!r} of {len(expected)}"
    raise AssertionError("they differ nowhere")
