"""The import rules hold, and each of them notices when it is broken."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.repository import BIN, ROOT

FOLDERS = (
    "backends",
    "client",
    "fuse",
    "services/csi",
    "services/fs",
    "services/job",
    "services/kit",
    "services/pipeline",
    "services/queue",
    "services/stack",
)

VIOLATIONS = [
    ("tiers", "services/kit/pf_kit/clock.py", "import pf_queue.fields"),
    ("tiers", "services/stack/pf_stack/layout.py", "import pf_queue.fields"),
    ("backends", "backends/pf_backends/entries.py", "import grpc"),
    ("backends", "fuse/pf_fuse/operations.py", "import pf_kit.ids"),
    ("csi", "services/csi/pf_csi/holder/client.py", "import pf_csi.node.domain"),
    ("csi-node", "services/csi/pf_csi/node/looking.py", "import pf_backends.opening"),
    ("rooms", "services/fs/pf_fs/links/domain.py", "import pf_fs.links.store"),
    ("pure", "services/fs/pf_fs/mounts/service.py", "import grpc"),
    ("client", "services/queue/pf_queue/quota/convert.py", "import paddleflow.aio"),
    ("queue", "services/queue/pf_queue/accounts/store.py", "import pf_queue.quota.tree"),
    ("rooms", "services/queue/pf_queue/quota/domain.py", "import pf_queue.quota.store"),
    ("rooms", "services/queue/pf_queue/accounts/memory.py", "import pf_queue.accounts.postgres"),
    ("job", "services/job/pf_job/jobs/service.py", "import pf_job.driving.loops"),
    ("job", "services/job/pf_job/specs/domain.py", "import pf_job.frameworks.rules"),
    ("pipeline", "services/pipeline/pf_pipeline/documents/model.py", "import pf_pipeline.plans.domain"),
    ("pipeline", "services/pipeline/pf_pipeline/plans/domain.py", "import pf_pipeline.engine.speaking"),
    ("pure", "services/job/pf_job/runtimes/local/runner.py", "import grpc"),
    ("pure", "services/fs/pf_fs/service/naming.py", "import grpc"),
    ("pure", "services/pipeline/pf_pipeline/plans/resolving.py", "import grpc"),
    ("pure", "services/queue/pf_queue/quota/service.py", "import grpc"),
    ("pure", "services/queue/pf_queue/quota/domain.py", "from paddleflow.queue.v1 import queue_pb2"),
    ("adapters", "services/queue/pf_queue/clusters/postgres.py", "import grpc"),
    ("kit-core", "services/kit/pf_kit/unit.py", "import pf_kit.postgres.pool"),
    ("runner", "services/job/pf_job/runtimes/local/files.py", "import asyncio"),
    ("runner", "services/job/pf_job/runtimes/local/records.py", "import paddleflow.problems"),
    ("asyncpg", "services/queue/pf_queue/clusters/memory.py", "import asyncpg"),
    ("redis", "services/queue/pf_queue/fields.py", "import redis"),
    ("transport", "fuse/pf_fuse/kernel/transport.py", "import asyncio"),
    ("terminal", "services/queue/pf_queue/fields.py", "import click"),
]


def broken_contracts(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [
        BIN / "lint-imports",
        "--no-logo",
        "--no-cache",
        "--config",
        ROOT / "pyproject.toml",
        *arguments,
    ]
    packages = {"PYTHONPATH": ":".join(str(root / folder) for folder in FOLDERS)}
    return subprocess.run(command, cwd=root, env=os.environ | packages, capture_output=True, text=True)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("copy")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def test_the_rules_hold() -> None:
    result = broken_contracts(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.xdist_group("layers")
@pytest.mark.parametrize(("contract", "module", "statement"), VIOLATIONS)
def test_a_violation_is_noticed(copy: Path, contract: str, module: str, statement: str) -> None:
    path = copy / module
    text = path.read_text()
    path.write_text(f"{text}\n{statement}\n")
    try:
        result = broken_contracts(copy, "--contract", contract)
    finally:
        path.write_text(text)
    assert (result.returncode, "0 kept, 1 broken" in result.stdout) == (1, True), result.stdout + result.stderr


def test_every_rule_has_been_seen_to_notice() -> None:
    declared = [
        line.split('"')[1] for line in (ROOT / "pyproject.toml").read_text().splitlines() if line.startswith("id = ")
    ]
    assert sorted(set(declared)) == sorted({contract for contract, _, _ in VIOLATIONS})
