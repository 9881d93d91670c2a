"""Each operation with each way in which it may fail, by pjdfstest."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from support.mounts import Mount
from support.soaking import told

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]
EXPECTED = Path(__file__).with_name("expected") / "pjdfstest.toml"
CONFIGURATION = """
[features]
secondary_fs = "{second}"
posix_fallocate = {{}}
rename_ctime = {{}}
utime_now = {{}}
utimensat = {{}}

[settings]
naptime = 0.02
allow_remount = false

[dummy_auth]
entries = [["nobody", "nogroup"], ["daemon", "daemon"]]
"""
VERDICT = re.compile(r"^(\S+::\S+) +(ok|FAILED|skipped)$(?:\n\t(.*))?", re.MULTILINE)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def test_each_operation_fails_as_it_should(soaked: Mount, kind: str, tools: Path, tmp_path: Path) -> None:
    (soaked.place / "tried").mkdir()
    (soaked.place / "tried").chmod(0o777)
    (tmp_path / "second").mkdir()
    configuration = tmp_path / "pjdfstest.toml"
    configuration.write_text(CONFIGURATION.format(second=tmp_path / "second"))
    command = [str(tools / "pjdfstest"), "-c", str(configuration), "-p", str(soaked.place / "tried")]
    said = subprocess.run(command, capture_output=True, text=True, timeout=1500, check=False)
    verdicts = {name: (verdict, why) for name, verdict, why in VERDICT.findall(COLOUR.sub("", said.stdout))}
    failed = {name: why for name, (verdict, why) in verdicts.items() if verdict == "FAILED"}
    passed = sum(verdict == "ok" for verdict, _ in verdicts.values())
    told(f"pjdfstest on {kind}: {passed} passed, {len(failed)} failed as expected, of {len(verdicts)}")
    assert passed > 100, said.stderr
    assert not dict(unexpected(failed, kind))


def unexpected(failed: Mapping[str, str], kind: str) -> Iterator[tuple[str, str]]:
    table = tomllib.loads(EXPECTED.read_text())
    known = [*table["everywhere"], *(table["objects"] if kind != "folder" else ())]
    for name, why in failed.items():
        if not any(fnmatchcase(name, pattern) for pattern in known):
            yield name, why
