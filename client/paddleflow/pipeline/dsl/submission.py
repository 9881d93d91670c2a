"""Handing pipelines to a server."""

from __future__ import annotations

import os
from pathlib import Path

import paddleflow
from paddleflow.address import SCHEMES
from paddleflow.config import Config, load_config
from paddleflow.pipeline.dsl.names import refused
from paddleflow.problems import Problem


def logged_in(config: str | os.PathLike[str] | None) -> paddleflow.Client:
    """A client by this configuration file, or by the usual one."""
    found = _configuration(config)
    host, port = _place(found.address)
    client = paddleflow.Client(host, found.user, found.password, port)
    answer = client.login(found.user, found.password)
    if not answer[0]:
        raise refused(f"the user {found.user} cannot log in at {found.address}: {answer[1]}")
    return client


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
