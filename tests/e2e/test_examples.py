"""The programs of the folder `examples` do what its page says."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from support import fuse_mounts
from support.examples import examples, perform
from support.installation import data_folder
from support.repository import ROOT
from support.s3_servers import BUCKET, KEYS, S3Server

FOLDER = ROOT / "examples"


@pytest.mark.timeout(240)
def test_the_examples_run() -> None:
    with data_folder() as made:
        here = made.folder / "examples"
        shutil.copytree(FOLDER, here, ignore=shutil.ignore_patterns("scratch", "__pycache__"))
        _run(here, made.environment)


@pytest.mark.timeout(240)
@pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing())
def test_the_example_with_a_bucket_runs(seaweed_server: S3Server) -> None:
    told = {
        "PF_FS_SERVERS_ALLOWED": "127.0.0.1",
        "ENDPOINT": f"http://127.0.0.1:{seaweed_server.port}",
        "BUCKET": BUCKET,
        "ACCESS_KEY": KEYS.access,
        "SECRET_KEY": KEYS.secret,
    }
    with data_folder() as made:
        here = made.folder / "bucket"
        shutil.copytree(FOLDER / "bucket", here)
        environment = {**made.environment, **told, "XDG_CACHE_HOME": str(made.folder / "cache")}
        try:
            _run(here, environment)
        finally:
            fuse_mounts.detach_below(made.folder)


def test_every_example_stands_in_the_page() -> None:
    page = (FOLDER / "README.md").read_text()
    files = [path.name for path in FOLDER.iterdir() if path.suffix in {".py", ".yaml"}]
    others = ["bucket/words.yaml", *(f"{path.parent.name}/{path.name}" for path in FOLDER.glob("*/run.yaml"))]
    assert [name for name in files + others if f"`{name}`" not in page] == []


def _run(here: Path, environment: Mapping[str, str]) -> None:
    """All examples of the page in a folder."""
    for example in examples(here / "README.md"):
        printed = perform(example, here, environment)
        assert example.matches(printed), f"$ {example.command}\n{printed}\ninstead of\n{example.output}"
