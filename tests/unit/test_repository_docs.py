"""What the pages say exists, exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import generate_docs
from support.repository import ROOT, tracked

PAGES = sorted(tracked("*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
TARGET = re.compile(r"^([a-z][a-z0-9-]*):", re.MULTILINE)
# Files of `note`, the service that a page has its reader write, are not there yet.
NAMED_FILE = re.compile(r"`((?:client|deploy|docs|protos|services|tests|tools)/[\w./-]*)`")


def anchors(page: Path) -> set[str]:
    """The places in a page that can be linked to, named as GitHub names them."""
    headings = HEADING.findall(FENCE.sub("", page.read_text()))
    return {
        re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)]\([^)]*\)", r"\1", text)).lower().replace(" ", "-")
        for text in headings
    }


def links(page: Path) -> Iterator[tuple[Path, str]]:
    for link in LINK.findall(FENCE.sub("", page.read_text())):
        if not link.startswith(("https://", "http://", "mailto:")):
            path, _, anchor = link.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


def broken(page: Path) -> Iterator[str]:
    for target, anchor in links(page):
        if not target.exists():
            yield f"{page.relative_to(ROOT)}: no file {target}"
        elif anchor and anchor not in anchors(target):
            yield f"{page.relative_to(ROOT)}: no heading {anchor} in {target.name}"


def test_every_link_leads_somewhere() -> None:
    assert [line for page in PAGES for line in broken(page)] == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A b: `c`\n[x](#a-b-c) [y](#nowhere) [z](gone.md)\n```\n[w](also-gone.md)\n```\n")
    assert len([target for target, anchor in links(page) if not target.exists() or anchor not in anchors(page)]) == 2


def test_every_page_can_be_reached_from_the_index() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "docs" / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            waiting += [target for target, _ in links(page) if target.suffix == ".md" and target.exists()]
    pages = {page for page in PAGES if ROOT / "docs" in page.parents}
    assert sorted(pages - reached) == []


def test_every_make_target_named_exists() -> None:
    targets = set(TARGET.findall((ROOT / "Makefile").read_text()))
    for page in PAGES:
        text = page.read_text()
        commands = re.findall(r"`make ([a-z][a-z-]*)", text)
        commands += [
            name for block in FENCE.findall(text) for name in re.findall(r"^make ([a-z-]+)", block, re.MULTILINE)
        ]
        assert set(commands) <= targets, page


def test_every_file_named_exists() -> None:
    for page in PAGES:
        named = [name for name in NAMED_FILE.findall(page.read_text()) if "note" not in name]
        gone = [name for name in named if not (ROOT / name).exists()]
        assert gone == [], page


def test_reference_is_fresh() -> None:
    assert generate_docs.stale(generate_docs.REFERENCE, generate_docs.pages()) == [], "run `make docs`"


@pytest.mark.parametrize("change", ["edited", "missing", "left over"])
def test_a_stale_page_is_named(tmp_path: Path, change: str) -> None:
    wanted = {"a.md": "a\n", "b.md": "b\n"}
    for name, text in wanted.items():
        (tmp_path / name).write_text(text)
    assert generate_docs.stale(tmp_path, wanted) == []
    if change == "missing":
        (tmp_path / "a.md").unlink()
    else:
        (tmp_path / ("a.md" if change == "edited" else "c.md")).write_text("other\n")
    assert generate_docs.stale(tmp_path, wanted) == ["c.md" if change == "left over" else "a.md"]
