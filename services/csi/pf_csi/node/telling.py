"""What the client of a mount is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pf_csi.node.domain import Wish
from pf_csi.places import Place


def told(wish: Wish, place: Place) -> Mapping[str, Any]:
    """Settings of `pf-fuse`, but for where it is mounted and kept, and what the holder sees to. They have secrets."""
    options = wish.options
    return {
        "url": place.url,
        "properties": dict(place.all),
        "readOnly": options.read_only,
        "dataset": options.dataset,
        "lasts": options.lasts,
        "uid": options.uid,
        "gid": options.gid,
        "owned": options.grouped,
        "shared": options.grouped,
        "fileMode": options.file_mode,
        "folderMode": options.folder_mode,
        "quota": options.quota,
        "source": f"paddleflow:{wish.volume}",
        "cacheSize": options.cache_size,
        "record": wish.record,
        "size": place.size,
    }
