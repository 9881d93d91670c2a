"""What the stack tells the filesystem service and the job service of their place."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from pf_fs.settings import FsSettings
from pf_job.settings import JobSettings
from pf_kit.settings import load
from pf_stack.endpoints import Endpoint
from pf_stack.layout import Layout
from pf_stack.stack import Place, fs_settings, job_settings


def place(data: str) -> Place:
    layout = Layout(Path(data), is_default=False)
    own = Endpoint(20000, 20001, layout.socket("fs"))
    entrance = Endpoint(20002, 20003, layout.socket("queue"))
    return Place(
        layout, own, {"queue": entrance, "fs": own, "job": own, "pipeline": own}, "postgresql://x", "unix:///x"
    )


@pytest.mark.parametrize("data", ["/srv/pf", "/srv/a,b c", f"/srv/{'x' * 100}"])
def test_neither_its_data_nor_its_sockets_are_ever_shared(data: str, tmp_path: Path) -> None:
    told = fs_settings(place(data))
    (tmp_path / "key").write_text("key")
    (tmp_path / "keys").write_bytes(b64encode(bytes(32)))
    told |= {"SIGNING_KEY_FILE": str(tmp_path / "key"), "CREDENTIAL_KEYS_FILE": str(tmp_path / "keys")}
    settings = load(FsSettings, "PF_FS", {f"PF_FS_{name}": value for name, value in told.items()})
    assert settings.queue == place(data).entrance.target
    sockets = place(data).layout.sockets
    assert any(Path(data) == folder for folder in settings.local.never)
    assert any(sockets.is_relative_to(folder) for folder in settings.local.never)


@pytest.mark.parametrize("data", ["/srv/pf", "/srv/a,b c", f"/srv/{'x' * 100}"])
def test_neither_its_data_nor_its_sockets_are_ever_seen_by_a_job(data: str, tmp_path: Path) -> None:
    told = job_settings(place(data))
    (tmp_path / "key").write_text("key")
    told["SIGNING_KEY_FILE"] = str(tmp_path / "key")
    settings = load(JobSettings, "PF_JOB", {f"PF_JOB_{name}": value for name, value in told.items()})
    assert (settings.queue, settings.fs) == (place(data).entrance.target, place(data).endpoint.target)
    assert settings.local.folder == Path(data) / "replicas"
    assert data in settings.local.unseen
    assert any(place(data).layout.sockets.is_relative_to(folder) for folder in settings.local.unseen)
