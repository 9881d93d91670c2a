"""Handing pipelines to a server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from paddleflow.config import Config, load_config
from paddleflow.pipeline.dsl.names import refused
from paddleflow.problems import Problem

if TYPE_CHECKING:
    from paddleflow.compat import Client


def logged_in(config: str | os.PathLike[str] | None) -> Client:
    """A client by this configuration file, or by the usual one."""
    # They bring all of the client with them, which who only compiles does not need.
    from paddleflow.compat.configured import ConfiguredClient  # noqa: PLC0415 -- see above
    from paddleflow.configured import configured_connection  # noqa: PLC0415 -- see above

    found = _configuration(config)
    try:
        connection = configured_connection(found)
        client = ConfiguredClient(connection)
    except Problem as problem:
        raise refused(problem.message) from problem
    if found.password and not found.token:
        answer = client.login(found.user, found.password)
        if not answer[0]:
            raise refused(f"the user {found.user} cannot log in at {found.address}: {answer[1]}")
    elif not (found.token or connection.token_cache.read()):
        raise refused(f"{found.path} has neither a password nor a token: write one below [user], or log in")
    return client


def _configuration(config: str | os.PathLike[str] | None) -> Config:
    try:
        return load_config(Path(config) if config else None, os.environ)
    except Problem as problem:
        raise refused(problem.message) from problem
