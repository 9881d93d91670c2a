"""Places in which volumes are made: files that the administrator keeps in one folder, as Kubernetes mounts a secret."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pf_csi.controller.domain import STORE
from pf_csi.places import PROPERTIES, SECRET, Place
from pf_csi.refusals import Refusal, Why

_ENDING = ".json"


class Stores:
    """Read each time, since keys are changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all(self) -> Mapping[str, Place]:
        """By their names. Refusal if one of them cannot be read."""
        names = sorted(path.name for path in self._folder.iterdir() if path.name.endswith(_ENDING))
        return {name.removesuffix(_ENDING): self._read(self._folder / name) for name in names}

    def _read(self, path: Path) -> Place:
        name = path.name.removesuffix(_ENDING)
        try:
            told = json.loads(path.read_bytes())
            url, properties = str(told["url"]), {str(key): str(text) for key, text in told["properties"].items()}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Refusal(Why.UNREADY, f'the store {name} must be {{"url": …, "properties": {{…}}}} in JSON') from None
        if not STORE.fullmatch(name) or properties.keys() - PROPERTIES - SECRET:
            raise Refusal(Why.UNREADY, f"the store {name[:40]!r} has a name or properties that are not known")
        secrets = {key: text for key, text in properties.items() if key in SECRET}
        return Place(url, {key: text for key, text in properties.items() if key not in SECRET}, secrets)
