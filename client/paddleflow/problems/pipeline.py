"""Problems with pipelines, their runs, schedules and results."""

from __future__ import annotations

from paddleflow.problems.base import AlreadyExists, FailedPrecondition, InvalidArgument, NotFound


class PipelineNotFound(NotFound):
    """No pipeline of this id that the caller may see."""

    reason = "PIPELINE_NOT_FOUND"


class PipelineExists(AlreadyExists):
    """The user has a pipeline of this name."""

    reason = "PIPELINE_EXISTS"


class PipelineVersionNotFound(NotFound):
    """The pipeline has no version of this number."""

    reason = "PIPELINE_VERSION_NOT_FOUND"


class PipelineInUse(FailedPrecondition):
    """The pipeline, or the version, cannot be done without."""

    reason = "PIPELINE_IN_USE"


class DocumentInvalid(InvalidArgument):
    """The document is wrong."""

    reason = "DOCUMENT_INVALID"


class DocumentUnreadable(FailedPrecondition):
    """The document cannot be read."""

    reason = "DOCUMENT_UNREADABLE"


class RunNotFound(NotFound):
    """No run of this id that the caller may see."""

    reason = "RUN_NOT_FOUND"


class RunStateConflict(FailedPrecondition):
    """The run's state does not allow this."""

    reason = "RUN_STATE"


class RunInUse(FailedPrecondition):
    """Other runs took results from this one."""

    reason = "RUN_IN_USE"


class NodeNotFound(NotFound):
    """The run has no node of this path."""

    reason = "NODE_NOT_FOUND"


class ScheduleNotFound(NotFound):
    """No schedule of this id that the caller may see."""

    reason = "SCHEDULE_NOT_FOUND"


class ScheduleExists(AlreadyExists):
    """The user has a schedule of this name."""

    reason = "SCHEDULE_EXISTS"


class ScheduleStateConflict(FailedPrecondition):
    """The schedule's state does not allow this."""

    reason = "SCHEDULE_STATE"


class CachedResultNotFound(NotFound):
    """No cached result of this id that the caller may see."""

    reason = "CACHED_RESULT_NOT_FOUND"


class NotExportable(FailedPrecondition):
    """Something in the document has no counterpart in the other system."""

    reason = "NOT_EXPORTABLE"
