"""What is told of a mount: how it is doing, who asks it what, and to Prometheus."""

from __future__ import annotations

import json
import os
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from prometheus_client.parser import text_string_to_metric_families

from paddleflow.cli.app import cli
from paddleflow.mounted import Unanswered, follow, is_mounted
from paddleflow.mounting import CannotMount, MountOptions
from support import fuse_mounts
from support.mounts import Mount, new_mount
from support.s3_servers import free_ports
from support.stacks import wait_until

pytestmark = pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing())


@pytest.fixture
def port() -> int:
    (found,) = free_ports(1)
    return found


@pytest.fixture
def mount(tmp_path: Path, port: int) -> Iterator[Mount]:
    (tmp_path / "files").mkdir()
    with new_mount() as made:
        made.begin(f"local://{tmp_path}/files", {}, MountOptions(more={"metrics": str(port)}))
        yield made
        made.end()


def run(mount: Mount, *words: str) -> Result:
    return CliRunner(env={**mount.environ}).invoke(cli, ["fs", *words])


def metrics(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    families = text_string_to_metric_families(text)
    return {sample.name: sample.value for family in families for sample in family.samples if "le" not in sample.labels}


def test_it_is_told_how_a_mount_is_doing(mount: Mount, port: int, tmp_path: Path) -> None:
    body = os.urandom(300_000)
    (mount.place / "f").write_bytes(body)
    assert (mount.place / "f").read_bytes() == body
    # What is written by the mount is not fetched again.
    (tmp_path / "files" / "other").write_bytes(body)
    assert (mount.place / "other").read_bytes() == body
    told = run(mount, "stats", str(mount.place), "--once")
    assert told.exit_code == 0, told.output
    assert "files known" in told.stdout
    assert "written here" in told.stdout
    assert "lookup" in told.stdout
    (all_of_it,) = json.loads(run(mount, "stats", str(mount.place), "-o", "json").stdout)
    assert sum(all_of_it["requests"]["lookup"]["spans"]) == all_of_it["requests"]["lookup"]["count"]
    assert "readdirplus" in all_of_it["features"]
    assert metrics(port)["paddleflow_mount_fetched_bytes_total"] == all_of_it["fetching"]["counts"]["fetched"] > 0
    printed = run(mount, "stats", str(mount.place), "--metrics").stdout
    assert printed.startswith("# HELP paddleflow_mount_up_seconds")
    mount.kill()
    assert metrics(port)["paddleflow_mount_up_seconds"] > 0
    assert run(mount, "stats", str(mount.home)).exit_code == 1


def test_a_port_that_is_taken_is_told_at_once(mount: Mount, port: int, tmp_path: Path) -> None:
    with new_mount() as other, pytest.raises(CannotMount, match="in use"):
        other.begin(f"local://{tmp_path}/files", {}, MountOptions(more={"metrics": str(port)}))


def test_a_bench_leaves_nothing(mount: Mount) -> None:
    told = run(mount, "bench", str(mount.place), "--size", "3Mi", "--files", "10", "-o", "json")
    assert told.exit_code == 0, told.output
    rows = json.loads(told.stdout)
    assert [(row["count"], row["bytes"]) for row in rows if row["what"] == "write small files"] == [(10, 10 * 102_400)]
    assert all(row["seconds"] > 0 for row in rows)
    assert len(rows) == 9
    assert list(mount.place.iterdir()) == []
    shown = run(mount, "bench", str(mount.place), "--size", "1Mi", "--files", "2")
    assert "99 % in ms" in shown.stdout
    assert run(mount, "bench", f"{mount.place}/none").exit_code == 1


def test_who_asks_what_is_told(mount: Mount) -> None:
    (mount.place / "d").mkdir()
    (mount.place / "d" / "it's").write_bytes(b"x" * 10_000)
    over = threading.Event()

    def read() -> None:
        while not over.wait(0.02):
            (mount.place / "d" / "it's").read_bytes()
            (mount.place / "d" / "no such").exists()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        told = run(mount, "profile", str(mount.place), "--seconds", "2.5", "-o", "json")
        shown = run(mount, "profile", str(mount.place), "--seconds", "1.2", "--log")
    finally:
        over.set()
        reader.join()
    assert told.exit_code == 0, told.output
    rows = json.loads(told.stdout)
    found = {(row["kind"], row["name"]): row for row in rows}
    assert found["request", "getattr"]["count"] > 1
    assert found["path", "d/it's"]["count"] > 1
    assert any(row["kind"] == "program" and row["name"].endswith(f" {os.getpid()}") for row in rows)
    assert "longest ms" in shown.stdout
    assert " getattr node=" in shown.stdout


def test_accesses_are_written_down_no_longer_than_somebody_looks(mount: Mount) -> None:
    beats = follow(mount.place, mount.environ, "accesses")
    log = Path(next(beats)["log"])
    second = follow(mount.place, mount.environ, "accesses")
    with pytest.raises(Unanswered, match="somebody else"):
        next(second)
    assert log.exists()
    beats.close()
    wait_until(lambda: not log.exists())


def test_a_mount_is_known_by_links_that_lead_to_it(mount: Mount, tmp_path: Path) -> None:
    (mount.place / "f").write_bytes(b"x" * 1000)
    (tmp_path / "link").symlink_to(mount.place)
    (tmp_path / "deep").symlink_to(tmp_path / "link")
    for words in (("stats", "--once"), ("warmup",)):
        told = run(mount, *words, str(tmp_path / "deep"))
        assert told.exit_code == 0, told.output
    refused = run(mount, "warmup", "--data-cache-path", str(tmp_path), str(tmp_path / "link"))
    assert refused.exit_code != 0
    assert "has a cache already" in refused.output
    assert run(mount, "umount", str(tmp_path / "link")).exit_code == 0
    assert not is_mounted(mount.place)
