"""Two processes never serve with one folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from pathlib import Path
from pf_fuse.alone import alone
with alone(Path(sys.argv[1])):
    print("alone", flush=True)
    sys.stdin.readline()
print("over", flush=True)
sys.stdin.read()
"""


def begun(folder: Path) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder)], stdin=pipe, stdout=pipe, stderr=pipe)


def line(process: subprocess.Popen[bytes], *, errors: bool = False) -> bytes:
    stream = process.stderr if errors else process.stdout
    assert stream is not None
    return stream.readline()


def test_the_second_serves_when_the_first_is_dead(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with begun(tmp_path) as first, begun(tmp_path / "other") as elsewhere:
        assert line(first) == line(elsewhere) == b"alone\n"
        with begun(tmp_path) as second:
            assert b"waiting for its end" in line(second, errors=True)
            first.kill()
            assert line(second) == b"alone\n"
            second.kill()
        elsewhere.kill()


def test_one_serves_with_several_folders_one_after_the_other(tmp_path: Path) -> None:
    with begun(tmp_path) as first:
        assert line(first) == b"alone\n"
        assert first.stdin is not None
        first.stdin.write(b"\n")
        first.stdin.flush()
        assert line(first) == b"over\n"
        with begun(tmp_path) as second:
            assert line(second) == b"alone\n"
            second.kill()
        first.kill()
