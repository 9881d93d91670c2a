"""The events of this service, ready to be stored."""

from __future__ import annotations

from pf_kit.events import Fact
from pf_pipeline.pipelines.convert import encode as encode_pipeline
from pf_pipeline.runs.convert import encode_run
from pf_pipeline.runs.domain import RunChanged


def encode(event: object) -> Fact:
    """The event, ready to be stored; TypeError if it is none of this service."""
    return encode_run(event) if isinstance(event, RunChanged) else encode_pipeline(event)
