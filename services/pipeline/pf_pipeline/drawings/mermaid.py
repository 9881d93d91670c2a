"""Pictures in Mermaid, which Markdown pages show. Equal pictures are equal texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count

from pf_pipeline.drawings.colours import STATES
from pf_pipeline.drawings.graph import Box, Picture, edges
from pf_pipeline.drawings.words import lines, shortened

LAST = "at the end"
_UNSAFE = re.compile(r"[^A-Za-z0-9_ .,]")


def mermaid(picture: Picture) -> str:
    """The picture."""
    writer = _Writer()
    told = ["---", f'title: "{_text(shortened(picture.title))}"', "---", "flowchart LR"]
    told += writer.boxes(picture.boxes, "  ")
    if picture.lasts:
        told += writer.boxes((Box(name=LAST, parts=picture.lasts),), "  ")
    for state in sorted(writer.states):
        tint = STATES[state]
        told.append(f"  classDef {state} fill:{tint.fill},stroke:{tint.line},color:#1f2328")
        told.append(f"  class {','.join(writer.states[state])} {state}")
    return "\n".join(told) + "\n"


class _Writer:
    """Gives numbers to boxes: their names may be any text."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.states: dict[str, list[str]] = {}

    def boxes(self, boxes: Sequence[Box], indent: str) -> Iterator[str]:
        names = [f"n{next(self._numbers)}" for _ in boxes]
        for name, box in zip(names, boxes, strict=True):
            label = "<br/>".join(map(_text, lines(box)))
            if box.state in STATES:
                self.states.setdefault(box.state, []).append(name)
            if box.parts:
                yield f'{indent}subgraph {name}["{label}"]'
                yield from self.boxes(box.parts, indent + "  ")
                yield f"{indent}end"
            else:
                yield f'{indent}{name}["{label}"]'
        for before, after in edges(boxes):
            yield f"{indent}{names[before]} --> {names[after]}"


def _text(text: str) -> str:
    """With the codes of all letters that could mean something to Mermaid, or to a page it is shown on."""
    return _UNSAFE.sub(lambda found: f"#{ord(found[0])};", text)
