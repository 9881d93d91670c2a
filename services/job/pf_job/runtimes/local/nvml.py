"""How busy the accelerators of NVIDIA are, by the library that comes with their driver. Numbers are those of nvml.h."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from pf_job.runtimes.local.samples import UNKNOWN

LIBRARY = "libnvidia-ml.so.1"
PERCENT = 10
"""In thousandths."""


class Utilization(ctypes.Structure):
    """Percent of the time in which anything ran on it, and in which its memory was used."""

    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class Memory(ctypes.Structure):
    """In bytes."""

    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class Unreadable(Exception):
    """The library does not tell."""


class Nvml:
    """Fulfils `Devices`. The library is loaded when somebody asks for the first time, and never if it is not there."""

    def __init__(self, load: Callable[[], Any] = lambda: ctypes.CDLL(LIBRARY)) -> None:
        self._load = load
        self._library: Any = None
        self._is_missing = False

    def read(self, numbers: Sequence[int]) -> tuple[int, int]:
        if self._library is None and not self._is_missing:
            self._open()
        if self._is_missing:
            return UNKNOWN, UNKNOWN
        try:
            told = [self._device(number) for number in numbers]
        except Unreadable:
            return UNKNOWN, UNKNOWN
        return sum(busy for busy, _ in told), sum(used for _, used in told)

    def _open(self) -> None:
        try:
            library = self._load()
            _check(library.nvmlInit_v2())
        except (OSError, Unreadable):
            self._is_missing = True
        else:
            self._library = library

    def _device(self, number: int) -> tuple[int, int]:
        device, load, memory = ctypes.c_void_p(), Utilization(), Memory()
        _check(self._library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(number), ctypes.byref(device)))
        _check(self._library.nvmlDeviceGetUtilizationRates(device, ctypes.byref(load)))
        _check(self._library.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory)))
        return load.gpu * PERCENT, memory.used


def _check(status: int) -> None:
    if status:
        raise Unreadable(status)
