"""Pictures as SVG. Equal pictures are equal texts."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from pf_pipeline.drawings.colours import colour
from pf_pipeline.drawings.graph import Box, Picture
from pf_pipeline.drawings.placing import AISLE, PAD, Area, Placed, Point, area
from pf_pipeline.drawings.words import LINE, shortened, width

MARGIN = 20.0
LAST = "at the end"
_FONT = 'font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="12"'
_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>'
)


def svg(picture: Picture) -> str:
    """The picture."""
    main = area(picture.boxes)
    last = area((Box(name=LAST, parts=tuple(picture.lasts)),)) if picture.lasts else None
    title = shortened(f"{picture.title}  {picture.state}".rstrip())
    top = MARGIN + 2 * LINE
    left = MARGIN + main.width + (AISLE if last else 0.0)
    wide = max(left + (last.width if last else 0.0), MARGIN + width(title)) + MARGIN
    high = top + max(main.height, last.height if last else 0.0) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(wide)}" height="{_n(high)}" '
        f'viewBox="0 0 {_n(wide)} {_n(high)}" role="img" {_FONT}>',
        f"<title>{_text(title)}</title>",
        _ARROW,
        f'<rect width="{_n(wide)}" height="{_n(high)}" fill="#ffffff"/>',
        f'<text x="{_n(MARGIN)}" y="{_n(MARGIN + LINE / 2)}" font-weight="bold" fill="#1f2328">{_text(title)}</text>',
        *_area(main, MARGIN, top, dashed=False),
        *(_area(last, left, top, dashed=True) if last else ()),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _area(found: Area, x: float, y: float, *, dashed: bool) -> Iterator[str]:
    if found.edges:
        yield '<g fill="none" stroke="#57606a" marker-end="url(#arrow)">'
        yield from (_edge([(x + across, y + down) for across, down in points]) for points in found.edges)
        yield "</g>"
    for placed in found.boxes:
        yield from _box(placed, x + placed.x, y + placed.y, dashed=dashed)


def _edge(points: list[Point]) -> str:
    """Curves between layers, straight lines through them."""
    (x, y), *rest = points
    path = f"M{_n(x)} {_n(y)}"
    for at, (across, down) in enumerate(rest):
        if at % 2:
            middle = _n((x + across) / 2)
            path += f"C{middle} {_n(y)} {middle} {_n(down)} {_n(across)} {_n(down)}"
        elif _n(across) != _n(x):
            path += f"H{_n(across)}"
        x, y = across, down
    return f'<path d="{path}"/>'


def _box(placed: Placed, x: float, y: float, *, dashed: bool) -> Iterator[str]:
    tint = colour(placed.box.state)
    strokes = ' stroke-dasharray="5 4"' if dashed or placed.box.state == "skipped" else ""
    fill = "#ffffff" if placed.inside else tint.fill
    yield (
        f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(placed.width)}" height="{_n(placed.height)}" rx="6" '
        f'fill="{fill}" stroke="{tint.line}"{strokes}/>'
    )
    for at, line in enumerate(placed.lines):
        weight, ink = (' font-weight="bold"', "#1f2328") if at == 0 else ("", tint.line)
        baseline = _n(y + PAD / 2 + LINE * (at + 0.75))
        yield f'<text x="{_n(x + PAD)}" y="{baseline}"{weight} fill="{ink}">{_text(line)}</text>'
    if placed.inside:
        yield from _area(placed.inside, x + PAD, y + PAD / 2 + LINE * len(placed.lines) + PAD, dashed=False)


def _n(number: float) -> str:
    """With one digit behind the point, and none if it is 0."""
    return f"{number + 0.0:.1f}".removesuffix(".0")


def _text(text: str) -> str:
    return escape(text, quote=True)
