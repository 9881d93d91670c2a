"""Users who are there since ever."""

from __future__ import annotations

from datetime import datetime

from pf_kit.changes import UNBORN
from pf_pipeline.owners import Callers


class Everybody:
    """Knows every name."""

    async def since(self, _name: str) -> datetime:
        return UNBORN


CALLERS = Callers(Everybody())
