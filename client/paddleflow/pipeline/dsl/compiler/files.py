"""Documents as files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from paddleflow.documents.writing import to_yaml
from paddleflow.pipeline.dsl.names import refused


def write(document: Mapping[str, object], path: str | PathLike[str]) -> None:
    """Writes the document, in the form that the ending of the path names; makes the folders that are missing."""
    file = Path(path)
    match file.suffix:
        case ".yaml" | ".yml":
            text = to_yaml(document)
        case ".json":
            text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        case _:
            raise refused(f"a pipeline cannot be written to {file}: the path has to end in .yaml, .yml or .json")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
