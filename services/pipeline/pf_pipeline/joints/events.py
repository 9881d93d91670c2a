"""The events of this service, ready to be stored."""

from __future__ import annotations

from pf_kit.events import Fact
from pf_pipeline.pipelines.convert import encode as encode_pipeline
from pf_pipeline.runs.convert import encode_run
from pf_pipeline.runs.domain import RunChanged
from pf_pipeline.schedules.convert import schedule_fact
from pf_pipeline.schedules.domain import ScheduleChanged


def encode(event: object) -> Fact:
    """The event, ready to be stored; TypeError if it is none of this service."""
    match event:
        case RunChanged():
            return encode_run(event)
        case ScheduleChanged():
            return schedule_fact(event)
    return encode_pipeline(event)
