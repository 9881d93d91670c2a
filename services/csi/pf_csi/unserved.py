"""Methods of the contract that this driver does not have, and does not claim to have."""

from __future__ import annotations

from typing import Any

from pf_csi.refusals import Refusal, Why


async def _refuse(_servicer: object, _request: object, _context: object) -> None:
    raise Refusal(Why.UNSERVED, "this driver does not do that; its capabilities say what it does")


unserved: Any = _refuse
"""Instead of any of them."""
