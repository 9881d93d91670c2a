"""Writes the synchronous client (paddleflow/sync) from the asyncio one (paddleflow/aio); --check says what is stale.

The twin differs only in what asyncio demands of the text, so rules of substitution are enough; what they do not cover
shows up as a type error in the twin.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLIENT = ROOT / "client"
SOURCE = CLIENT / "paddleflow" / "aio"
TWIN = CLIENT / "paddleflow" / "sync"
RUFF = Path(sys.executable).with_name("ruff")

RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\basync (def|with|for)\b", r"\1"),
        (r"\bawait ", ""),
        (r"\bAsyncGenerator\[(\w+), None\]", r"Generator[\1, None, None]"),
        (r"\bAwaitable\[(Page\[T\])\]", r"\1"),
        (r"\bAsync(Iterator|Generator|PaddleFlow)\b", r"\1"),
        (r"(\w+Service)AsyncStub\b", r"\1Stub"),
        (r"\b__a(enter|exit)__\b", r"__\1__"),
        (r"\baclosing\b", "closing"),
        (r"\bopen_channel\b", "open_blocking_channel"),
        (r"\bimport asyncio\n", "import threading\nimport time\n"),
        (r"\basyncio\.Lock\b", "threading.Lock"),
        (r"\basyncio\.sleep\b", "time.sleep"),
        (r"\basyncio programs\b", "programs with threads"),
        (r"\bfrom grpc import aio\n", "import grpc\n"),
        (r"\baio\.(Channel|Unary)", r"grpc.\1"),
        (r"\bpaddleflow\.aio\b", "paddleflow.sync"),
    )
)


def twin_of(path: Path) -> str:
    text = path.read_text()
    for pattern, replacement in RULES:
        text = pattern.sub(replacement, text)
    origin = path.relative_to(CLIENT)
    marked = f"# Written by tools/generate_sync.py from {origin}; change it there.\n{text}"
    target = TWIN / path.name
    # The rules leave imports unsorted, doubled or without use, and loops that `yield from` can say.
    fixed = _ruff(["check", "--quiet", "--fix-only", "--unsafe-fixes", "--select", "F401,F811,I,UP028"], marked, target)
    return _ruff(["format", "--quiet"], fixed, target)


def _ruff(arguments: list[str], text: str, target: Path) -> str:
    command = [str(RUFF), *arguments, "--stdin-filename", str(target), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def twins() -> dict[Path, str]:
    return {TWIN / path.name: twin_of(path) for path in sorted(SOURCE.glob("*.py"))}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a twin is stale")
    checking = parser.parse_args().check
    wanted, present = twins(), {path: path.read_text() for path in TWIN.glob("*.py")}
    stale = sorted(path for path in wanted.keys() | present.keys() if wanted.get(path) != present.get(path))
    for path in stale:
        if checking:
            print(f"stale twin: {path.relative_to(ROOT)} (run `make protos`)")
        elif path in wanted:
            path.write_text(wanted[path])
        else:
            path.unlink()
    return 1 if stale and checking else 0


if __name__ == "__main__":
    sys.exit(main())
