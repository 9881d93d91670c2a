"""Documents as nothing but what YAML and JSON have."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from paddleflow.pipeline.dsl.names import refused


def plain(value: object) -> object:
    """The same, copied, without types of its own; raises for what cannot be written."""
    match value:
        case None | bool():
            return value
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case float() if isfinite(value):
            return float(value)
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case list() | tuple():
            # Copied each time: what stands in two places would become an anchor and an alias.
            return [plain(each) for each in value]
    raise refused(f"{value!r} cannot be written into a document: use texts, finite numbers, lists and dictionaries")
