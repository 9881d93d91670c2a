"""One program that needs no others."""

from __future__ import annotations

from pf_job.frameworks.rules import RoleRule, Rules
from pf_job.specs.domain import Framework, Role

RULES = Rules(
    framework=Framework.STANDALONE,
    roles=(RoleRule(role=Role.MAIN, most=1),),
    decisive=(frozenset({Role.MAIN}),),
)
