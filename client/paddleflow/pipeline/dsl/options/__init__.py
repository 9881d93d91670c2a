"""What can be chosen about pipelines and steps."""

from __future__ import annotations

from paddleflow.pipeline.dsl.options.attempts import Approval, Retry
from paddleflow.pipeline.dsl.options.cache_options import CacheOptions, FSScope
from paddleflow.pipeline.dsl.options.compiled import Options, compiled
from paddleflow.pipeline.dsl.options.durations import Duration, duration
from paddleflow.pipeline.dsl.options.failure_options import FAIL_CONTINUE, FAIL_FAST, FailureOptions
from paddleflow.pipeline.dsl.options.fs_options import ExtraFS, FSOptions, MainFS, extra_filesystems

__all__ = [
    "FAIL_CONTINUE",
    "FAIL_FAST",
    "Approval",
    "CacheOptions",
    "Duration",
    "ExtraFS",
    "FSOptions",
    "FSScope",
    "FailureOptions",
    "MainFS",
    "Options",
    "Retry",
    "compiled",
    "duration",
    "extra_filesystems",
]
