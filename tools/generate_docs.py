"""Writes docs/reference from the protos, the settings, the commands and the code, or says which page is stale."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from reference import cli, contract, dsl, errors, frameworks, job_spec, metrics, pipeline_yaml, rpc, settings, states

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"
NOTICE = "<!-- Written by `make docs`. Change what it is made from: tools/generate_docs.py says what that is. -->\n\n"


def pages() -> dict[str, str]:
    """The text of each page, by file name."""
    sources = contract.read()
    written = {
        "cli.md": cli.page(),
        "dsl.md": dsl.page(),
        "errors.md": errors.page(sources),
        "frameworks.md": frameworks.page(),
        "job-spec.md": job_spec.page(sources),
        "metrics.md": metrics.page(),
        "pipeline-yaml.md": pipeline_yaml.page(),
        "rpc.md": rpc.page(sources),
        "settings.md": settings.page(),
        "states.md": states.page(),
    }
    return {name: NOTICE + text.rstrip("\n") + "\n" for name, text in written.items()}


def stale(folder: Path, wanted: dict[str, str]) -> list[str]:
    """The pages that do not say what they should, and those that nothing writes any more."""
    present = {path.name: path.read_text() for path in folder.glob("*.md")}
    return sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is stale")
    check = parser.parse_args().check
    wanted = pages()
    names = stale(REFERENCE, wanted)
    for name in names:
        if check:
            print(f"stale: docs/reference/{name} (run `make docs`)")
        elif name in wanted:
            (REFERENCE / name).write_text(wanted[name])
        else:
            (REFERENCE / name).unlink()
    return 1 if check and names else 0


if __name__ == "__main__":
    sys.exit(main())
