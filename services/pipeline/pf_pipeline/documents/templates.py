"""Templates: `{{name}}`, `{{component.name}}`, with blanks inside if you like.

Whatever else stands in double braces is text, so that a command may hold what other languages write so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

SYSTEM = ("PF_RUN_ID", "PF_STEP_NAME", "PF_USER_NAME", "PF_LOOP_ARGUMENT")
"""Names that mean something everywhere."""
LOOP_ARGUMENT = "PF_LOOP_ARGUMENT"
PARENT = "PF_PARENT"
REMOVED = ("PF_FS_ID", "PF_FS_NAME")
"""Names that once meant something."""

_OPEN = "{{"
_SHOWN = 80
# No part gives back what it took, so that a text is looked at once, whatever it holds.
_TEMPLATE = re.compile(r"\{\{\s*+(?:([A-Za-z0-9_-]*+)\.)?([A-Za-z0-9_-]++)\s*+\}\}", re.ASCII)
_LONG = re.compile(r"\{\{\s*+([A-Za-z0-9_-]++)(?:\.[A-Za-z0-9_-]++){2,}\s*+\}\}", re.ASCII)


class Ref(NamedTuple):
    """What a template refers to."""

    component: str | None
    """None: to something of the component itself, or of the system."""
    name: str

    def __str__(self) -> str:
        name = self.name[:_SHOWN]
        return name if self.component is None else f"{self.component[:_SHOWN]}.{name}"


def refs(text: str) -> list[Ref]:
    """What the templates in a text refer to, in order."""
    if _OPEN not in text:
        return []
    return [Ref(*found.groups()) for found in _TEMPLATE.finditer(text)]


def whole(text: str) -> Ref | None:
    """What a text refers to that is one template and nothing else."""
    found = _TEMPLATE.fullmatch(text) if _OPEN in text else None
    return Ref(*found.groups()) if found else None


def replaced(text: str, by: Callable[[Ref], str]) -> str:
    """The text with other texts in place of its templates, which are not looked at again."""
    if _OPEN not in text:
        return text
    return _TEMPLATE.sub(lambda found: by(Ref(*found.groups())), text)


def too_long(text: str) -> Iterator[tuple[str, str]]:
    """What looks like a template with more than one dot: its text, and its first name."""
    if _OPEN in text:
        yield from ((found[0], found[1]) for found in _LONG.finditer(text))
