"""Programs that people run find on a mount what they left there."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from support.mounts import Mount
from support.repository import ROOT
from support.soaking import ran, sized, told

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]
STRESSORS = [
    "access",
    "chdir",
    "chmod",
    "chown",
    "copy-file",
    "dentry",
    "dir",
    "dirdeep",
    "dup",
    "fallocate",
    "fcntl",
    "filename",
    "flock",
    "fsize",
    "fstat",
    "getdent",
    "hdd",
    "iomix",
    "lease",
    "locka",
    "lockf",
    "lockofd",
    "mmap",
    "msync",
    "open",
    "readahead",
    "rename",
    "revio",
    "seek",
    "sendfile",
    "splice",
    "sync-file",
    "touch",
    "utime",
    "xattr",
]
NOT_HERE = (3, 4)
"""What stress-ng ends with where something is not to be had."""
FOUND_WRONG = 2
"""What it ends with where a stressor has found something wrong."""
EXPECTED = Path(__file__).with_name("expected") / "stress-ng.toml"
SIZES = {
    "hdd": "32M",
    "iomix": "16M",
    "revio": "16M",
    "copy-file": "128M",
    "fallocate": "16M",
    "mmap": "16M",
    "msync": "16M",
}
FILES = sized(50_000, 1000)
SECONDS = sized(5)


@pytest.mark.parametrize("stressor", STRESSORS)
def test_a_stressor_finds_nothing_wrong(soaked: Mount, kind: str, tmp_path: Path, stressor: str) -> None:
    size = [f"--{stressor}-bytes", SIZES[stressor]] if stressor in SIZES else []
    command = ["stress-ng", f"--{stressor}", "1", "--verify", "--timeout", f"{SECONDS}"]
    command += ["--temp-path", str(soaked.place), *size]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    wrong = [line for line in done.stderr.splitlines() if " fail: " in line]
    told(f"stress-ng --{stressor} on {kind}: {done.returncode}")
    assert not list(unexpected(wrong, kind, stressor))
    assert done.returncode in (0, *NOT_HERE) or (done.returncode == FOUND_WRONG and wrong), done.stderr[-2000:]


def unexpected(wrong: Sequence[str], kind: str, stressor: str) -> Iterator[str]:
    table = tomllib.loads(EXPECTED.read_text())
    kinds = [kind] if kind == "folder" else ["objects", kind]
    known = [pattern for each in kinds for pattern in table.get(each, {}).get(stressor, {})]
    return (line for line in wrong if not any(re.search(pattern, line) for pattern in known))


def test_git_finds_its_own_history(soaked: Mount, tmp_path: Path) -> None:
    ran("git", "clone", "-q", "--no-hardlinks", ROOT, soaked.place / "clone", cwd=tmp_path)
    ran("git", "fsck", "--full", "--strict", cwd=soaked.place / "clone")
    assert not ran("git", "status", "--porcelain", cwd=soaked.place / "clone")


@pytest.mark.parametrize("journal", ["delete", "truncate", "persist"])
def test_a_database_is_whole(soaked: Mount, journal: str) -> None:
    database = sqlite3.connect(soaked.place / "rows.db", isolation_level=None)
    database.execute(f"pragma journal_mode={journal}")
    database.execute("create table rows (number integer primary key, data blob)")
    for _ in range(20):
        database.execute("begin")
        database.executemany("insert into rows (data) values (?)", [(os.urandom(1000),) for _ in range(200)])
        database.execute("delete from rows where number % 3 = 0")
        database.execute("commit")
    assert database.execute("pragma integrity_check").fetchone() == ("ok",)
    database.close()


def test_programs_are_built_and_run(soaked: Mount) -> None:
    for number in range(50):
        (soaked.place / f"part{number}.c").write_text(f"int part{number}(void) {{ return {number}; }}\n")
    calls = "+".join(f"part{number}()" for number in range(50))
    declared = "".join(f"int part{number}(void);" for number in range(50))
    (soaked.place / "main.c").write_text(f"{declared} int main(void) {{ return ({calls}) != 1225; }}\n")
    (soaked.place / "Makefile").write_text(
        "parts := $(patsubst %.c,%.o,$(wildcard *.c))\nprogram: $(parts)\n\tcc -o $@ $(parts)\n"
    )
    ran("make", "-j2", cwd=soaked.place)
    assert "up to date" in ran("make", cwd=soaked.place)
    shutil.copy(soaked.place / "program", soaked.home)
    (soaked.home / "program").chmod(0o700)
    ran(soaked.home / "program", cwd=soaked.place)


def test_many_files_go_in_and_come_out(soaked: Mount, kind: str, tmp_path: Path) -> None:
    for number in range(FILES):
        path = tmp_path / "in" / f"{number // 1000}" / f"{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n" * (number % 50))
    ran("tar", "cf", tmp_path / "in.tar", "in", cwd=tmp_path)
    begun = time.monotonic()
    ran("tar", "xf", tmp_path / "in.tar", cwd=soaked.place, seconds=3000)
    between = time.monotonic()
    ran("tar", "cf", tmp_path / "out.tar", "in", cwd=soaked.place, seconds=3000)
    told(f"tar of {FILES} files on {kind}: {between - begun:.0f} s in, {time.monotonic() - between:.0f} s out")
    (tmp_path / "out").mkdir()
    ran("tar", "xf", tmp_path / "out.tar", cwd=tmp_path / "out")
    ran("diff", "-r", tmp_path / "in", tmp_path / "out" / "in", cwd=tmp_path)


def test_packages_are_installed_and_imported(soaked: Mount, tmp_path: Path) -> None:
    target = soaked.place / "packages"
    ran(
        ROOT / ".tools/bin/uv",
        "pip",
        "install",
        "--quiet",
        "--link-mode=copy",
        "--target",
        target,
        "rich",
        cwd=tmp_path,
    )
    code = "import rich; print(rich.__file__)"
    assert str(target) in ran(
        sys.executable, "-c", f"import sys; sys.path.insert(0, {str(target)!r}); {code}", cwd=tmp_path
    )
