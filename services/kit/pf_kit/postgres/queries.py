"""SQL lives in files, one named block for each query, so that it can be read, checked and prepared as SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

_HEADING = re.compile(r"^-- (\w+) --$", re.MULTILINE)
_FILTER = re.compile(r"\$\d+(::\S+)? is null or ")


class Filtered(str):
    """A query with filters that may be null: which of them are decides how it is best done."""

    __slots__ = ()


def load_queries(package: str, file: str = "sql/queries.sql") -> Mapping[str, str]:
    """The blocks of a package's SQL file by their name; a block begins with the line ``-- name --``."""
    preamble, *parts = _HEADING.split(files(package).joinpath(file).read_text("utf-8"))
    names, bodies = parts[::2], parts[1::2]
    if len(set(names)) < len(names):
        raise ValueError(f"{package}/{file}: two queries share a name")
    if re.sub(r"--.*", "", preamble).strip():
        raise ValueError(f"{package}/{file}: there is SQL before the first name")
    return {name: _query(body.strip()) for name, body in zip(names, bodies, strict=True)}


def _query(sql: str) -> str:
    return Filtered(sql) if _FILTER.search(sql) else sql
