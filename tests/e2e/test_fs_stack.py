"""Filesystems in an installation as a user gets it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import grpc
import pytest

from paddleflow.fs.v1 import fs_pb2, fs_pb2_grpc
from paddleflow.problems import FolderNotAllowed
from paddleflow.status import problem_of
from support.servers import short_folder
from support.stacks import Stack, new_stack, wait_until

HEALTHY_START = 5.0
"""Seconds, on a machine that is busy with other tests; alone it takes less than one."""


def address_of_fs(stack: Stack) -> str:
    """As the client's configuration tells it."""
    text = (stack.data / "client" / "paddleflow.ini").read_text()
    return next(line.partition(" = ")[2] for line in text.splitlines() if line.startswith("fs = "))


def create(stack: Stack, name: str, folder: Path) -> fs_pb2.Filesystem:
    with stack.connect() as client:
        secret = client.tokens.create("test").secret
    draft = fs_pb2.Filesystem(name=name, url=f"local://{folder}")
    with grpc.insecure_channel(address_of_fs(stack)) as channel:
        stub = fs_pb2_grpc.FilesystemServiceStub(channel)
        request = fs_pb2.CreateFilesystemRequest(filesystem=draft)
        return stub.CreateFilesystem(request, metadata=(("authorization", f"Bearer {secret}"),), timeout=20).filesystem


def test_the_installation_itself_is_never_shared(stack: Stack) -> None:
    for folder in (stack.data, stack.data / "keys", stack.data / "run", stack.folder):
        with pytest.raises(grpc.RpcError) as refused:
            create(stack, "mine", folder)
        assert isinstance(problem_of(refused.value), FolderNotAllowed)  # type: ignore[arg-type]  # no types of grpc's


def test_a_killed_service_is_back_and_serves(stack: Stack) -> None:
    before = stack.pid("fs")
    stack.kill("fs")
    begin = time.monotonic()
    wait_until(lambda: stack.status()["ready"] and stack.pid("fs") != before)
    assert time.monotonic() - begin < HEALTHY_START
    folder = short_folder()
    assert create(stack, "after", folder).name == "after"
    folder.rmdir()


def test_filesystems_are_backed_up_and_restored(stack: Stack) -> None:
    folder = short_folder()
    made = create(stack, "kept", folder)
    file = folder / "backup.tar"
    stack.pf("backup", str(file))
    with new_stack() as other:
        other.pf("restore", str(file), "--data", str(other.data))
        other.pf("up")
        with other.connect() as client:
            secret = client.tokens.create("test").secret
        with grpc.insecure_channel(address_of_fs(other)) as channel:
            listed = fs_pb2_grpc.FilesystemServiceStub(channel).ListFilesystems(
                fs_pb2.ListFilesystemsRequest(name_prefix="kept"),
                metadata=(("authorization", f"Bearer {secret}"),),
                timeout=20,
            )
        assert list(listed.filesystems) == [made]
    file.unlink()
    folder.rmdir()


def test_its_place_is_written_down_for_programs(stack: Stack) -> None:
    endpoints = json.loads((stack.data / "endpoints.json").read_text())
    assert address_of_fs(stack) == f"unix:{endpoints['fs']['socket']}"
    assert stack.processes()["fs"]["address"] == f"127.0.0.1:{endpoints['fs']['port']}"
