"""Examples in pages are found, and what they print is compared as it should be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.examples import Example, examples, perform

PAGE = """\
# Page

```console
$ one
1
$ two << X
> more
>
> X
2
  3
```

```sh
$ not an example
```

```console
$ three
```
"""


def test_commands_and_outputs_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert list(examples(page)) == [
        Example("one", "1\n"),
        Example("two << X\nmore\n\nX", "2\n  3\n"),
        Example("three", ""),
    ]


@pytest.mark.parametrize(
    ("written", "printed", "fits"),
    [
        ("a", "a\n", True),
        ("a", "a  \n\n", True),
        ("a", "b", False),
        ("a", "a\nb", False),
        ("a b… c", "a bird c", True),
        ("a…b", "a\nb", False),
        ("(a) [x] …%", "(a) [x] 12%", True),
        ("a\n…\nb", "a\nb", True),
        ("a\n…\nb", "a\nx\ny\nb", True),
        ("a\n…\nb", "a\nx\ny", False),
        ("a\n…", "a\nx\ny", True),
        ("", "", True),
        ("", "a", False),
    ],
)
def test_outputs_are_compared(written: str, printed: str, fits: bool) -> None:
    assert Example("", written).matches(printed) is fits


def test_a_command_is_run_by_a_shell_and_its_errors_are_seen(tmp_path: Path) -> None:
    assert perform(Example("echo $HOME | tr x y; echo no >&2", ""), tmp_path, os.environ | {"HOME": "/x"}) == "/y\nno\n"
