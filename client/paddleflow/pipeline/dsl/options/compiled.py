"""Options as the language writes them."""

from __future__ import annotations

from typing import Protocol

from paddleflow.pipeline.dsl.names import refused


class Options(Protocol):
    """Something that was chosen."""

    def compile(self) -> dict[str, object]:
        """What the language says of it."""


def compiled(given: object, kind: type[Options]) -> dict[str, object] | None:
    """What the language says of these options; None if there are none. Raises if they are of another kind."""
    if given is None:
        return None
    if not isinstance(given, kind):
        raise refused(f"{given!r} stands where {kind.__name__}(…) should")
    return given.compile()
