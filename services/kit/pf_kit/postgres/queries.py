"""SQL lives in files, one named block for each query, so that it can be read, checked and prepared as SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

_HEADING = re.compile(r"^-- (\w+) --$", re.MULTILINE)


def load_queries(package: str, file: str = "sql/queries.sql") -> Mapping[str, str]:
    """The blocks of a package's SQL file by their name; a block begins with the line ``-- name --``."""
    preamble, *parts = _HEADING.split(files(package).joinpath(file).read_text("utf-8"))
    names, bodies = parts[::2], parts[1::2]
    if len(set(names)) < len(names):
        raise ValueError(f"{package}/{file}: two queries share a name")
    if re.sub(r"--.*", "", preamble).strip():
        raise ValueError(f"{package}/{file}: there is SQL before the first name")
    return {name: body.strip() for name, body in zip(names, bodies, strict=True)}
