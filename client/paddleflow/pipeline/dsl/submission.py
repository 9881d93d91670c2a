"""Handing pipelines to a server."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, cast

import paddleflow
from paddleflow.address import SCHEMES
from paddleflow.config import Config, load_config
from paddleflow.pipeline.dsl.names import refused
from paddleflow.problems import Problem


class Submissions(Protocol):
    """What pipelines ask of `paddleflow.Client`. Documents are bytes of YAML."""

    def create_run(
        self,
        fs_name: str | None = None,
        username: str | None = None,
        run_name: str | None = None,
        desc: str | None = None,
        *,
        run_yaml_raw: bytes | None = None,
        param: Mapping[str, object] | None = None,
        disabled: str | None = None,
    ) -> tuple[bool, object]:
        """Begins a run."""

    def create_pipeline(
        self, *, desc: str | None = None, username: str | None = None, yaml_raw: bytes | None = None
    ) -> tuple[bool, object]:
        """Registers a pipeline."""

    def update_pipeline(
        self, pipeline_id: str, *, desc: str | None = None, username: str | None = None, yaml_raw: bytes | None = None
    ) -> tuple[bool, object]:
        """Adds a version to a pipeline."""


def logged_in(config: str | os.PathLike[str] | None) -> Submissions:
    """A client by this configuration file, or by the usual one."""
    found = _configuration(config)
    host, port = _place(found.address)
    client = paddleflow.Client(host, found.user, found.password, port)
    answer = client.login(found.user, found.password)
    if not answer[0]:
        raise refused(f"the user {found.user} cannot log in at {found.address}: {answer[1]}")
    # The methods that it takes are those of the original's client.
    return cast("Submissions", client)


def _configuration(config: str | os.PathLike[str] | None) -> Config:
    try:
        found = load_config(Path(config) if config else None, os.environ)
    except Problem as problem:
        raise refused(problem.message) from problem
    if not (found.user and found.password):
        raise refused(f"there is no user with a password in {found.path}: write name and password below [user]")
    return found


def _place(address: str) -> tuple[str, str]:
    if address.startswith(SCHEMES):
        return address, ""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), port
