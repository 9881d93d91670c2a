"""Garbage, and when it is better not looked for."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected(*, stays: bool) -> Iterator[None]:
    """Inside, no garbage is looked for: to do so among all that comes to stay takes longer than to make it, and nothing
    else runs meanwhile. If it `stays`, what is there at the end is never looked at again; what of it becomes garbage in
    circles is never freed then.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        if stays:
            gc.freeze()
