"""Programs that train in jobs: a Python with the client that replicas can run, and where they write down things."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paddleflow.fs.v1 import fs_pb2
from paddleflow.job.v1 import spec_pb2
from support.callers import Caller
from support.ordinary import ordinary_python

PYTHON = "/python"
"""Where replicas see a Python that was copied for them."""
NOTES = "/notes"
"""Where they see the folder that all of them may write to."""


@dataclass(frozen=True)
class TrainerPython:
    """How replicas run Python."""

    program: str
    folder: Path | None
    """What they must see for it; None if they see it anyway."""

    @property
    def environment(self) -> Mapping[str, str]:
        if self.folder is None:
            return {}
        return {"PYTHONPATH": f"{PYTHON}/site", "LD_LIBRARY_PATH": f"{PYTHON}/lib"}


@contextmanager
def trainer_python() -> Iterator[TrainerPython]:
    """This Python, if any account can run it; else a copy."""
    with ordinary_python() as found:
        program = Path(found.python)
        if found.environment:
            yield TrainerPython(f"{PYTHON}/bin/{program.name}", program.parent.parent)
        else:
            yield TrainerPython(found.python, None)


async def trainers(
    filesystems: Caller, python: TrainerPython, notes: Path, tag: str, script: str, **fields: Any
) -> spec_pb2.JobSpec:
    """A job whose replicas run a script, and write below `notes`."""
    notes.chmod(0o777)
    (notes / "train.py").write_text(script)
    mounts = [await _mount(filesystems, f"notes-{tag}", notes, NOTES)]
    if python.folder is not None:
        mounts.append(await _mount(filesystems, f"python-{tag}", python.folder, PYTHON))
    return spec_pb2.JobSpec(fs=mounts[0], extra_fs=mounts[1:], args=[python.program, f"{NOTES}/train.py"], **fields)


async def _mount(filesystems: Caller, name: str, folder: Path, path: str) -> spec_pb2.FilesystemMount:
    draft = fs_pb2.Filesystem(name=name, url=f"local://{folder}")
    await filesystems(fs_pb2.CreateFilesystemRequest(filesystem=draft))
    return spec_pb2.FilesystemMount(name=name, mount_path=path, read_only=path == PYTHON)
