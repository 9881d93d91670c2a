"""How a mount is doing, for people and for programs."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pf_fuse.compose import Parts
from pf_fuse.holder.messages import VERSION
from pf_fuse.kernel.figures import Figure
from pf_fuse.kernel.transport import Transport
from pf_fuse.vfs.limiting import Limiting

_SHARES = (0.5, 0.99)
_KIB = 1024


def stats(transport: Transport, parts: Parts, state: Path, since: float) -> Mapping[str, Any]:
    """Counts are since the process began; times in seconds, sizes in bytes."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "version": VERSION,
        "up": time.monotonic() - since,
        "passthrough": transport.passthrough,
        "features": [feature.name.lower() for feature in transport.features if feature.name],
        "requests": {name: _request(figure) for name, figure in transport.figures.now().items()},
        "waiting": transport.waiting,
        "nodes": len(parts.tree.nodes),
        "cache": asdict(parts.cache.stats()),
        "fetching": asdict(parts.fetcher.stats()),
        "quota": _quota(parts.limiting),
        "written": {kind: _files(state / kind) for kind in ("stage", "aside")},
        "writeback": asdict(parts.owing.owed) if parts.owing else None,
        "process": {
            "id": os.getpid(),
            "memory": _resident(os.getpid()),
            "memory_peak": used.ru_maxrss * _KIB,
            "processor": used.ru_utime + used.ru_stime,
        },
        "porters": [{"id": each, "memory": _resident(each)} for each in parts.fetcher.porters],
    }


def _quota(limiting: Limiting) -> Mapping[str, Any]:
    """`place` is what the filesystem allows, `most` that and what this mount does; null: any number."""
    return {
        "place": asdict(limiting.of_place),
        "most": asdict(limiting.most),
        "held": asdict(held) if (held := limiting.held) else None,
    }


def _request(figure: Figure) -> Mapping[str, Any]:
    return {
        "count": figure.count,
        "failed": {str(number): count for number, count in figure.failed.items()},
        "seconds": figure.total / 1e9,
        "spans": figure.spans[: _used(figure.spans)],
        **{f"p{share * 100:g}": figure.within(share) / 1e9 for share in _SHARES},
    }


def _used(spans: Sequence[int]) -> int:
    """Up to the last one in which there is something."""
    return max((place for place, count in enumerate(spans, 1) if count), default=0)


def _files(folder: Path) -> Mapping[str, int]:
    """What was written here: `stage` is not uploaded, or open; `aside` cannot be uploaded."""
    sizes = []
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                sizes.append(entry.stat().st_size)
    return {"files": len(sizes), "bytes": sum(sizes)}


def _resident(process: int) -> int:
    """0 if it is gone."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name == "VmRSS":
                return int(value.split()[0]) * _KIB
    return 0
