"""Shows a pipeline: `examples/train` fails, is mended and goes on, and the next run comes from the cache.

It types what a user would type. It can be run again.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import paddleflow
from paddleflow.problems import FilesystemNotFound
from shown import answer, run, say

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
SCRATCH = EXAMPLES / "scratch"
FILESYSTEMS = {"examples": EXAMPLES, "scratch": SCRATCH}
CREATE = "run create -yr examples/train/run.yaml -p count=300"


def clear() -> None:
    """Removes what an earlier run made."""
    with paddleflow.connect_configured() as client:
        for name in FILESYSTEMS:
            try:
                client.filesystems.delete(name)
            except FilesystemNotFound:
                continue
    if (shelf := SCRATCH / "shelf").exists():
        shelf.rename(SCRATCH / f"shelf-{shelf.stat().st_mtime_ns}")


def files() -> None:
    say("1. Steps find their files by the names of filesystems: one has programs, one has room for what they make.")
    make(SCRATCH)
    for name, folder in FILESYSTEMS.items():
        run(f"fs create {name} local://{folder}")


def make(folder: Path) -> None:
    """A folder in which everybody's steps may write: each user's run under an account of their own."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o1777)


def fail() -> str:
    say("""2. `examples/train/run.yaml` writes points, fits a line at each of three rates at once, picks the best fit,
        and publishes it if it is good. What it publishes goes to a shelf, and there is none.""")
    first = run_of(CREATE)
    run(f"run watch {first}")
    run(f"run explain {first} publish")
    run(f"run logs {first} publish")
    return first


def mend(first: str) -> None:
    say("3. With a shelf the run goes on where it broke: what was made is not made again.")
    print("\n$ mkdir examples/scratch/shelf", flush=True)
    make(SCRATCH / "shelf")
    run(f"run watch {run_of(f'run retry {first}')}")


def repeat() -> str:
    say("""4. The same again: files, programs and parameters are as they were, so nothing is computed. Only `publish`
        runs, since it says that it is not to be cached.""")
    second = run_of(CREATE)
    run(f"run watch {second}")
    run(f"run show {second}")
    run(f"run explain {second} pick")
    return second


def origins(second: str) -> None:
    say("5. What was made is on record: where it lies, and what it was made from.")
    made = answer(f"run listartifact -r {second} -t output -o text")
    best = next(cell for line in made.splitlines() if "\tbest\t" in line for cell in line.split("\t")[3:4])
    run(f"artifact lineage scratch {best} --depth 1 -o text")
    say("6. Had anything changed, this would say so before the run.")
    run(CREATE.replace("create", "plan").replace("300", "301"))


def run_of(line: str) -> str:
    """The id of the run that a command makes: the last one that it tells."""
    ids = re.findall(r"run-\d+", answer(line))
    if not ids:
        sys.exit("this should have told the id of the run")
    return str(ids[-1])


def main() -> None:
    print("\n== Pipelines: a run fails, goes on where it broke, and the next one comes from the cache ==", flush=True)
    clear()
    files()
    mend(fail())
    origins(repeat())


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        # As a shell says it; nobody needs to see where it was.
        sys.exit(130)
