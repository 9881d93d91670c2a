"""Where things of a run lie in its main filesystem, and what they are called there and elsewhere.

A path begins at the root of the filesystem. Steps see it below the place where that is mounted, which `sub_path` of
the filesystem is not a part of. Several paths in one text are joined by commas.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import md5

from pf_pipeline.documents.model import Mount

MOUNTS = "/home/paddleflow/storage/mnt"
"""Where filesystems are mounted, each in a folder with its id, if nothing else is said."""
_FOLDER = ".pipeline"
_RESULTS = ".results"
"""No artifact has this name: it has a dot."""
SEPARATOR = ","


@dataclass(frozen=True, slots=True)
class Ground:
    """The main filesystem of a run, as its steps see it."""

    mount_path: str = MOUNTS
    sub_path: str = ""
    """Without `/` at its ends."""

    def seen(self, paths: str) -> str:
        """Paths of the filesystem as a step sees them."""
        if SEPARATOR in paths:
            return SEPARATOR.join(self._seen(path) for path in paths.split(SEPARATOR))
        return self._seen(paths) if paths else ""

    def _seen(self, path: str) -> str:
        below = path.removeprefix(f"{self.sub_path}/") if self.sub_path else path
        return f"{self.mount_path}/{below}"


def ground(main_fs: Mount | None, filesystem_id: str) -> Ground:
    if main_fs is None:
        return Ground()
    sub_path = "/".join(part for part in main_fs.sub_path.split("/") if part not in ("", "."))
    return Ground(main_fs.mount_path.rstrip("/") or f"{MOUNTS}/{filesystem_id}", sub_path)


def folder(sub_path: str, run: str, pipeline: str, step: str, iteration: int, runtime_name: str) -> str:
    """Where the artifacts of an iteration of a step lie. `runtime_name` names it among all iterations of all steps."""
    digest = md5(runtime_name.encode(), usedforsecurity=False).hexdigest()
    return f"{artifacts_folder(sub_path, run)}/{pipeline}/{step}-{iteration}-{digest}"


def artifacts_folder(sub_path: str, run: str) -> str:
    """Where all artifacts of a run lie."""
    path = f"{_FOLDER}/{run}"
    return f"{sub_path}/{path}" if sub_path else path


def result_file(folder_: str, name: str) -> str:
    """Where a step writes a small result."""
    return f"{folder_}/{_RESULTS}/{name}"


def job_name(run: str, step: str, iteration: int) -> str:
    return f"{run}-{step}-{iteration}" if iteration else f"{run}-{step}"


def component(path: str) -> str:
    """The path of a node in its document, without iterations."""
    return ".".join(part.partition("[")[0] for part in path.split("."))
