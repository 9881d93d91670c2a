"""Writes plans for other systems."""

from __future__ import annotations

from types import MappingProxyType

from pf_pipeline.exports.airflow.programs import airflow_program
from pf_pipeline.exports.argo.workflows import argo_workflow
from pf_pipeline.exports.report import Report, report_common
from pf_pipeline.pipelines.ports import Exported, Target
from pf_pipeline.plans.domain import Plan

WRITERS = MappingProxyType({Target.ARGO: (argo_workflow, "yaml"), Target.AIRFLOW: (airflow_program, "py")})
"""What writes for each system, and how names of its files end."""


def exported(plan: Plan, target: Target, *, strict: bool) -> Exported:
    """The plan there, and what differs. Fulfils `Exporting`."""
    report = Report()
    report_common(plan, report)
    write, ending = WRITERS[target]
    text = write(plan, report)
    return Exported(text, f"{plan.name}.{ending}", report.settled(strict=strict))
