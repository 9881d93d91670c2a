"""The pipeline service as a process of its own, beside the services that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support.job_process import JobProcess
from support.servers import short_folder
from support.service_process import ServiceProcess


@dataclass
class PipelineProcess(ServiceProcess):
    """`pf-pipeline`."""

    name = "pipeline"
    jobs: JobProcess
    settings: Mapping[str, str] = field(default_factory=dict)
    folder: Path = field(default_factory=short_folder)

    @property
    def told(self) -> Mapping[str, str]:
        return {
            **self.jobs.queue.common,
            "QUEUE": self.jobs.queue.address,
            "FS": self.jobs.fs.address,
            "JOB": self.jobs.address,
        }
