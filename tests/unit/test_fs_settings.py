"""The settings of the filesystem service."""

from __future__ import annotations

from pathlib import Path

import pytest

from pf_fs.settings import FsSettings, LocalSettings
from pf_kit.settings import SettingsError, load

REQUIRED = {
    "PF_FS_DATABASE_DSN": "postgresql://x",
    "PF_FS_REDIS": "redis://x",
    "PF_FS_SERVER_LISTEN": "127.0.0.1:0",
    "PF_FS_SIGNING_KEY": "key",
    "PF_FS_QUEUE": "localhost:8999",
}


def test_folders_are_words_separated_by_commas() -> None:
    local = {
        "PF_FS_LOCAL_ROOTS": "/data/{user}, /shared",
        "PF_FS_LOCAL_FORBIDDEN": "/srv/a,/srv/b",
        "PF_FS_LOCAL_INSTALLATION": "/var/lib/paddleflow, odd",
    }
    settings = load(FsSettings, "PF_FS", REQUIRED | local).local
    assert settings.roots == ("/data/{user}", "/shared")
    assert settings.never == (Path("/srv/a"), Path("/srv/b"), Path("/var/lib/paddleflow, odd"))


def test_nothing_is_set_aside_or_forbidden_unless_it_is_said() -> None:
    assert load(FsSettings, "PF_FS", REQUIRED).local == LocalSettings()
    assert LocalSettings().never == ()


@pytest.mark.parametrize("variable", ["PF_FS_LOCAL_ROOTS", "PF_FS_LOCAL_FORBIDDEN"])
@pytest.mark.parametrize("folders", ["data", "/data,relative", "/data/../etc", "~/data"])
def test_folders_that_are_not_absolute_are_refused(variable: str, folders: str) -> None:
    with pytest.raises(SettingsError, match=r"must be absolute paths without '\.\.'"):
        load(FsSettings, "PF_FS", REQUIRED | {variable: folders})
