"""The contract cannot break, and its stubs cannot be stale, without a test saying so."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import generate_stubs
from support.repository import BIN, ROOT

QUEUE = Path("protos/paddleflow/queue/v1/queue.proto")


def contract(action: str, root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [sys.executable, ROOT / "tools/contract.py", action, "--root", root, *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def edit(root: Path, old: str, new: str) -> None:
    text = (root / QUEUE).read_text()
    assert text.count(old) == 1, f"{old!r} must stand once in {QUEUE}"
    (root / QUEUE).write_text(text.replace(old, new))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "protos", tmp_path / "protos")
    shutil.copy(ROOT / "buf.yaml", tmp_path)
    return tmp_path


def test_protos_are_what_clients_were_promised() -> None:
    result = contract("check", ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("int32 weight = 10;", "int32 weight = 30;", id="field renumbered"),
        pytest.param("int32 weight = 10;", "int64 weight = 10;", id="field of another type"),
        pytest.param("int32 weight = 10;", "int32 share = 10;", id="field renamed"),
        pytest.param("QUEUE_STATE_HELD = 2;", "QUEUE_STATE_PAUSED = 2;", id="enum value renamed"),
        pytest.param(
            "rpc WatchQueues(WatchQueuesRequest) returns (stream ",
            "rpc WatchQueues(WatchQueuesRequest) returns (",
            id="stream gone",
        ),
    ],
)
def test_a_change_that_breaks_clients_is_refused(copy: Path, old: str, new: str) -> None:
    edit(copy, old, new)
    refused = contract("check", copy)
    assert refused.returncode == 1
    assert "breaks clients" in refused.stderr
    assert str(QUEUE) in refused.stdout, "it says where"
    assert contract("accept", copy).returncode == 1, "it cannot be accepted by accident"
    assert contract("accept", copy, "--may-break").returncode == 0
    assert contract("check", copy).returncode == 0


def test_an_addition_is_welcome_and_then_promised(copy: Path) -> None:
    added = "int32 weight = 10;\n  // How loud it is.\n  int32 volume = 40;"
    edit(copy, "int32 weight = 10;", added)
    unsaid = contract("check", copy)
    assert (unsaid.returncode, "make protos" in unsaid.stderr) == (1, True)
    assert contract("accept", copy).returncode == 0
    edit(copy, added, "int32 weight = 10;")
    assert "breaks clients" in contract("check", copy).stderr


def test_every_element_needs_a_comment(copy: Path) -> None:
    edit(copy, "  // Queues of higher priority are served first where shares are equal: -1000 to 1000.\n", "")
    result = subprocess.run([BIN / "buf", "lint"], cwd=copy, capture_output=True, text=True)
    assert result.returncode != 0
    assert 'Field "priority" should have a non-empty comment' in result.stdout


def test_lint_and_format_find_nothing() -> None:
    for command in (["lint"], ["format", "--diff", "--exit-code", "protos"]):
        result = subprocess.run([BIN / "buf", *command], cwd=ROOT, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr


def test_stubs_are_fresh_and_a_stale_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    generate_stubs.generate(fresh)
    assert generate_stubs.stale(fresh) == []

    stale = tmp_path / "stale"
    shutil.copytree(fresh, stale)
    name = Path("paddleflow/queue/v1/queue_pb2.pyi")
    (stale / name).write_text("")
    (stale / "paddleflow/queue/v1/cluster_pb2_grpc.py").unlink()
    monkeypatch.setattr(generate_stubs, "CLIENT", stale)
    assert generate_stubs.stale(fresh) == [Path("paddleflow/queue/v1/cluster_pb2_grpc.py"), name]


def test_stubs_of_what_others_speak_are_fresh(tmp_path: Path) -> None:
    generate_stubs.generate_foreign(tmp_path)
    assert generate_stubs.stale_foreign(tmp_path, generate_stubs.BACKENDS) == []
    stale = generate_stubs.stale_foreign(tmp_path, tmp_path / "nowhere")
    assert Path("pf_backends/hdfs/hadoop_pb2.pyi") in stale


def test_stubs_of_what_kubernetes_speaks_are_fresh(tmp_path: Path) -> None:
    generate_stubs.generate_kubernetes(tmp_path)
    assert generate_stubs.stale_foreign(tmp_path, generate_stubs.CSI) == []
    stale = generate_stubs.stale_foreign(tmp_path, tmp_path / "nowhere")
    assert Path("pf_csi/contract/csi_pb2_grpc.py") in stale
