"""Mounts that are not there in time."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from paddleflow.mounting import CannotMount, start
from support.waiting import wait_until


def test_a_mount_that_is_not_there_in_time_is_told_to_have_failed(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    log = tmp_path / "state" / "log"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = {
            "place": str(tmp_path / "place"),
            "url": "s3://bucket/folder",
            "properties": {
                "endpoint": f"http://127.0.0.1:{silent.getsockname()[1]}",
                "accessKey": "access",
                "secretKey": "secret",
            },
            "links": [],
            "state": str(tmp_path / "state"),
            "cache": {"folders": [str(tmp_path / "pages")], "size": None},
            "source": "paddleflow:fs-root-silent",
        }
        with pytest.raises(CannotMount, match="is not there after 1 s"):
            start(settings, os.environ, patience=1.0)
    wait_until(lambda: "pf-fuse: " in log.read_text(), patience=60.0)
