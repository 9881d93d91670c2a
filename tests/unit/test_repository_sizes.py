"""Files and functions stay small enough to be read in one go."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.repository import ROOT, is_generated, tracked

FILE_LINES = 400
FUNCTION_LINES = 50

Function = ast.FunctionDef | ast.AsyncFunctionDef


def sources() -> list[Path]:
    return [path for path in tracked("*.py") if not is_generated(path)]


def functions(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def length(function: Function) -> int:
    """Lines of a function's signature and body; its docstring is not counted."""
    body = function.body
    documented = ast.get_docstring(function, clean=False) is not None
    assert function.end_lineno is not None
    assert body[0].end_lineno is not None
    return function.end_lineno - function.lineno + 1 - (body[0].end_lineno - body[0].lineno + 1 if documented else 0)


def too_long(path: Path) -> list[str]:
    text = path.read_text()
    lines = text.count("\n")
    found = [f"{path.name}: {lines} lines, at most {FILE_LINES}"] if lines > FILE_LINES else []
    return found + [
        f"{path.name}:{function.lineno}: {function.name} has {length(function)} lines, at most {FUNCTION_LINES}"
        for function in functions(ast.parse(text))
        if length(function) > FUNCTION_LINES
    ]


def test_no_file_and_no_function_is_too_long() -> None:
    assert [line for path in sources() for line in too_long(path)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("x = 1\n" * FILE_LINES, 0, id="file at the limit"),
        pytest.param("x = 1\n" * (FILE_LINES + 1), 1, id="file above it"),
        pytest.param("def f():\n" + "    x = 1\n" * (FUNCTION_LINES - 1), 0, id="function at the limit"),
        pytest.param("async def f():\n" + "    x = 1\n" * FUNCTION_LINES, 1, id="function above it"),
        pytest.param(
            'def f():\n    """D\n    """\n' + "    x = 1\n" * (FUNCTION_LINES - 1), 0, id="docstring not counted"
        ),
        pytest.param("class C:\n def f(self):\n" + "  x = 1\n" * FUNCTION_LINES, 1, id="method"),
    ],
)
def test_the_limits_are_exact(tmp_path: Path, text: str, found: int) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    assert len(too_long(path)) == found


def test_test_folders_are_not_packages() -> None:
    """A package `tests/…/queue` would hide the standard library's `queue`."""
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_test_files_have_names_of_their_own() -> None:
    names = [path.name for path in tracked("tests/**/test_*.py")]
    assert sorted(names) == sorted(set(names))
