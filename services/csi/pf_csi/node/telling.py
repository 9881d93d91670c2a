"""What the client of a mount is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pf_csi.held import SOURCE
from pf_csi.node.domain import Wish
from pf_csi.options import Options
from pf_csi.places import Place


def told(wish: Wish, place: Place) -> Mapping[str, Any]:
    """Settings of `pf-fuse`, but for where it is mounted and kept, and what the holder sees to. They have secrets.

    What is as usual is not said: a client of an earlier version may not know it.
    """
    usual, said = settings_of(Options()), settings_of(wish.options)
    return {
        "url": place.url,
        "properties": dict(place.all),
        "source": f"{SOURCE}{wish.volume}",
        **{name: value for name, value in said.items() if value != usual[name]},
        **({"record": wish.record} if wish.record else {}),
        **({"size": place.size} if place.size else {}),
    }


def settings_of(options: Options) -> Mapping[str, Any]:
    return {
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
        "cacheSize": options.cache_size,
    }
