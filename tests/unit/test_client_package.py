"""The package as a whole: what an import loads, that the twins agree, that wrong use fails type-checking."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import paddleflow
from support.repository import BIN, ROOT


def loaded_by(statement: str) -> set[str]:
    """Top packages that a fresh interpreter has loaded after the statement."""
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split())


def test_stubs_load_nothing_but_protobuf() -> None:
    loaded = loaded_by("import paddleflow.queue.v1.queue_pb2, paddleflow.auth.v1.auth_pb2")
    assert not loaded & {"click", "rich", "grpc", "yaml", "asyncio"}


def test_problems_models_and_quantities_load_nothing() -> None:
    loaded = loaded_by("import paddleflow.problems, paddleflow.models, paddleflow.quantity, paddleflow.config")
    assert not loaded & {"click", "rich", "grpc", "google", "yaml", "asyncio"}


def test_help_loads_neither_grpc_nor_rich() -> None:
    assert not loaded_by("import paddleflow.cli.app") & {"rich", "grpc", "google", "yaml", "asyncio"}


def test_every_public_name_is_there() -> None:
    assert set(dir(paddleflow)) == set(paddleflow.__all__)
    for name in paddleflow.__all__:
        assert getattr(paddleflow, name).__name__ == name


@pytest.mark.parametrize("package", ["aio", "sync", "compat", "models", "problems"])
def test_every_name_a_package_offers_can_be_imported(package: str) -> None:
    offering = import_module(f"paddleflow.{package}")
    assert [name for name in offering.__all__ if not hasattr(offering, name)] == []


def test_an_unknown_name_is_told_as_always() -> None:
    with pytest.raises(AttributeError, match="module 'paddleflow' has no attribute 'Klient'"):
        paddleflow.Klient  # type: ignore[attr-defined]  # noqa: B018


def test_the_synchronous_twin_is_fresh() -> None:
    command = [sys.executable, str(ROOT / "tools" / "generate_sync.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


USE = """
import paddleflow
paddleflow.Klient  # wrong: no such name
from paddleflow import aio
from paddleflow.models import Queue, QueueState

with paddleflow.connect("localhost:1") as client:
    client.queues.create("team-a")  # wrong: a name is no queue
    client.queues.create(Queue("team-a", max={"cpu": 1000}))
    client.queues.update("team-a", maximum={"cpu": 1})  # wrong: no such field
    client.queues.update("team-a", max={"cpu": "2"})  # wrong: text is no amount
    client.queues.update("team-a", max={"cpu": 2000, "memory": None})
    client.queues.list(states=["open"])  # wrong: a word is no state
    client.queues.list(states=[QueueState.OPEN])
    Queue("team-a").weight = 3  # wrong: values do not change
    count: int = client.queues.get("team-a").name  # wrong: a name is no number


async def main() -> None:
    async with aio.connect("localhost:1") as asynchronous:
        print(asynchronous.queues.get("team-a").name)  # wrong: not awaited
        print((await asynchronous.queues.get("team-a")).name)
        for queue in asynchronous.queues.list():  # wrong: not for asynchronous lists
            print(queue)
"""


def test_wrong_use_of_the_client_fails_type_checking(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(USE)
    checked = subprocess.run([BIN / "mypy", program], capture_output=True, text=True, cwd=ROOT)
    found = {int(line.split(":")[1]) for line in checked.stdout.splitlines() if ": error:" in line}
    assert found == {at for at, line in enumerate(USE.splitlines(), 1) if "# wrong" in line}, checked.stdout
