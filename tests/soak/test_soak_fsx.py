"""Reads, writes, cuts and mappings of one file at random, beside a copy in memory, by fsx."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from support.mounts import Mount
from support.soaking import sized, told

pytestmark = [pytest.mark.soak, pytest.mark.timeout(7200)]
WEIGHTS = """
flen = {length}
[opsize]
max = {most}
[weights]
read = 10.0
write = 10.0
truncate = 2.0
close_open = {closes}
fsync = 0.2
mapread = {maps}
mapwrite = {maps}
invalidate = 1.0
posix_fallocate = 1.0
"""
MANNERS = {
    "mapped": (WEIGHTS.format(length=262_144, most=65_536, closes=1.0, maps=10.0), 100_000),
    "plain": (WEIGHTS.format(length=262_144, most=65_536, closes=1.0, maps=0.0), 200_000),
    "large": (WEIGHTS.format(length=40 << 20, most=1 << 20, closes=0.1, maps=2.0), 5_000),
}
"""And how many operations each time."""
SEEDS = (1, 7)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("manner", MANNERS)
def test_a_file_has_what_was_written_whatever_is_done_to_it(
    soaked: Mount, kind: str, tools: Path, tmp_path: Path, manner: str, seed: int
) -> None:
    weights, operations = MANNERS[manner][0], sized(MANNERS[manner][1])
    configuration = tmp_path / "fsx.toml"
    configuration.write_text(weights)
    command: list[str | Path] = [tools / "fsx", "-q", "-f", configuration, "-N", str(operations), "-S", str(seed)]
    begun = time.monotonic()
    done = subprocess.run(
        [*command, "-P", tmp_path, soaked.place / "file"], capture_output=True, text=True, timeout=7000, check=False
    )
    took = time.monotonic() - begun
    told(f"fsx, {manner}, on {kind}, seed {seed}: {operations} operations in {took:.0f} s, {done.returncode}")
    assert not done.returncode, f"{done.stdout[-4000:]}\n{done.stderr[-1000:]}\n{soaked.log[-2000:]}"
