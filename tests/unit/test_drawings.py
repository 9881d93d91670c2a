"""Pictures of graphs: nothing overlaps, few edges cross, and nothing that people write gets out of its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pf_pipeline.documents.reading import read
from pf_pipeline.drawings.graph import Box, Picture, duration
from pf_pipeline.drawings.layers import crossings, layered, neighbours
from pf_pipeline.drawings.mermaid import mermaid
from pf_pipeline.drawings.placing import GAP, Area, area
from pf_pipeline.drawings.plans import drawn, picture_of
from pf_pipeline.drawings.svg import svg
from pf_pipeline.pipelines.ports import Form
from pf_pipeline.plans.planning import plan
from pf_pipeline.plans.requests import Request

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = ('"></text><script>alert(1)</script>', "]]>&lt;", "a\x00\x07\u202eb", 'end"] --> x', "`**#35;`", "%%{init}%%")


def boxes(edges: Sequence[tuple[int, int]], count: int) -> tuple[Box, ...]:
    return tuple(
        Box(name=f"b{at}", after=tuple(f"b{before}" for before, after in edges if after == at)) for at in range(count)
    )


@st.composite
def graphs(draw: st.DrawFn, depth: int = 2) -> tuple[Box, ...]:
    count = draw(st.integers(1, 7))
    made = []
    for at in range(count):
        after = draw(st.sets(st.integers(0, at - 1), max_size=3)) if at else set()
        parts = draw(graphs(depth - 1)) if depth and draw(st.integers(0, 3)) == 0 else ()
        marks = tuple(draw(st.lists(st.text(max_size=60), max_size=2)))
        made.append(
            Box(name=f"b{at}", marks=marks, seconds=1.0, after=tuple(f"b{each}" for each in sorted(after)), parts=parts)
        )
    return tuple(made)


def areas(found: Area) -> Iterator[Area]:
    yield found
    for placed in found.boxes:
        if placed.inside:
            assert placed.inside.width <= placed.width
            assert placed.inside.height < placed.height
            yield from areas(placed.inside)


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_boxes_do_not_overlap_and_edges_lead_forward(made: tuple[Box, ...]) -> None:
    for found in areas(area(made)):
        for at, one in enumerate(found.boxes):
            assert one.x >= 0 and one.y >= -0.001  # noqa: PT018  # both say that it is inside
            assert one.x + one.width <= found.width + 0.001
            assert one.y + one.height <= found.height + 0.001
            for other in found.boxes[at + 1 :]:
                beside = one.x + one.width <= other.x or other.x + other.width <= one.x
                apart = min(abs(one.y + one.height - other.y), abs(other.y + other.height - one.y)) >= GAP - 0.001
                above = one.y + one.height <= other.y or other.y + other.height <= one.y
                assert beside or (above and apart)
        for points in found.edges:
            across = [round(x, 3) for x, _ in points]
            assert across == sorted(across)
            assert across[0] < across[-1]
    ET.fromstring(svg(Picture(title="t", boxes=made)))  # noqa: S314  # our own text


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 12), st.data())
def test_order_makes_no_more_crossings_than_there_were(count: int, data: st.DataObject) -> None:
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda pair: pair[0] < pair[1])
    edges = data.draw(st.lists(pairs, unique=True, max_size=20))
    found = layered(count, edges)
    after = neighbours(found.paths.values())[1]
    naive = [sorted(layer) for layer in found.layers]
    assert crossings(found.layers, after) <= crossings(naive, after)
    assert sorted(node for layer in found.layers for node in layer if node < count) == list(range(count))


def test_what_need_not_cross_does_not() -> None:
    found = layered(8, [(0, 7), (1, 6), (2, 5), (3, 4)])
    assert crossings(found.layers, neighbours(found.paths.values())[1]) == 0
    crossed = layered(4, [(0, 2), (0, 3), (1, 2), (1, 3)])
    assert crossings(crossed.layers, neighbours(crossed.paths.values())[1]) == 1


def test_a_cycle_is_drawn_without_the_edges_that_close_it() -> None:
    assert layered(3, [(0, 1), (1, 2), (2, 1)]).paths == {}
    assert "b1" in svg(Picture(title="t", boxes=boxes([(0, 1), (1, 2), (2, 1)], 3)))


def test_large_graphs_are_drawn_in_time() -> None:
    wide = boxes([(0, at) for at in range(1, 3_000)], 3_000)
    dense = boxes([(at - step, at) for at in range(1, 800) for step in (1, 7, 31) if step <= at], 800)
    for made in (wide, dense):
        assert svg(Picture(title="t", boxes=made)).count("<rect") == len(made) + 1


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_people_write_stays_text(text: str) -> None:
    box = Box(name=text, state=text, marks=(text,), parts=(Box(name="in", marks=(text,)),))
    picture = Picture(title=text, state=text, boxes=(box,), lasts=(box,))
    found = ET.fromstring(svg(picture))  # noqa: S314  # our own text
    assert {each.tag.removeprefix(SVG) for each in found.iter()} <= {
        "svg", "title", "defs", "g", "marker", "path", "rect", "text"
    }  # fmt: skip
    told = mermaid(picture)
    harmless = r"[A-Za-z0-9_ .,:#;]"
    for line in told.splitlines():
        assert re.fullmatch(
            rf'---|flowchart LR|title: "{harmless}*"| *end| *n\d+ --> n\d+| *(subgraph )?n\d+\["({harmless}|<br/>)*"\]',
            line,
        ), line


DINNER = """
name: dinner
entry_points:
  shop: {command: shop, retry: {limit: 2}}
  cook:
    deps: shop
    loop_argument: [1, 2, 3]
    entry_points:
      chop: {command: chop}
      fry: {command: fry, deps: chop, condition: "a < b"}
  ask: {deps: cook, approval: {users: [ada]}}
  eat: {command: eat, deps: "cook,ask"}
disabled: eat
post_process: {wash: {command: wash}}
on_exit: {sing: {command: sing, when: succeeded}}
"""


def test_a_plan_is_drawn_with_what_matters() -> None:
    made = plan(read(DINNER), Request())
    picture = picture_of(made)
    shop, cook, ask, eat = picture.boxes
    assert shop.marks == ("up to 2 retries",)
    assert cook.marks == ("for each of 3",)
    assert cook.parts[1] == Box(name="fry", marks=("if a < b",), after=("chop",))
    assert (ask.marks, eat.marks, eat.after) == (("needs approval",), ("disabled",), ("cook", "ask"))
    assert [box.name for box in picture.lasts] == ["wash", "sing"]
    assert drawn(made, Form.SVG) == drawn(made, Form.SVG)
    assert "if a &lt; b" in drawn(made, Form.SVG)
    assert "n2 --> n3" in drawn(made, Form.MERMAID)


def test_states_have_colours_and_words() -> None:
    box = Box(name="fry", state="failed", seconds=75.2)
    assert "failed 1m 15s" in svg(Picture(title="t", boxes=(box,)))
    told = mermaid(Picture(title="t", boxes=(box, Box(name="eat", state="failed"))))
    assert "failed 1m 15s" in told
    assert "class n1,n2 failed" in told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0.0s"),
        (0.44, "0.4s"),
        (9.99, "10.0s"),
        (59.4, "59s"),
        (59.6, "1m 00s"),
        (3599, "59m 59s"),
        (7260, "2h 01m"),
    ],
)
def test_durations_are_told_as_people_do(seconds: float, told: str) -> None:
    assert duration(seconds) == told
