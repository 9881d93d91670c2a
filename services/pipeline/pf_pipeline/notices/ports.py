"""What notices need of others."""

from __future__ import annotations

from typing import Protocol

from pf_pipeline.notices.addresses import Endpoint
from pf_pipeline.notices.domain import Notice


class NoAnswer(Exception):
    """An attempt failed; another one may not."""


class Refused(Exception):
    """An attempt failed, and so will all others."""


class Webhooks(Protocol):
    """Whoever calls webhooks."""

    async def post(self, endpoint: Endpoint, headers: dict[str, str], body: bytes) -> int:
        """The status of the answer. Raises NoAnswer, or Refused if the address may not be called."""


class Secrets(Protocol):
    """Whoever reads the files that secrets lie in."""

    async def read(self, notice: Notice) -> bytes:
        """The secret of a notice, as the owner of its run may read it. Raises NoAnswer, or Refused if it cannot."""


class Commands(Protocol):
    """Whoever runs commands."""

    async def begin(self, notice: Notice) -> None:
        """Makes a job of the owner that runs the command of a notice, with the body in its variable `PF_NOTICE`; once
        for each id, however often it is asked. Raises NoAnswer, or Refused.
        """
