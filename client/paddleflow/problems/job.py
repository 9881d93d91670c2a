"""Problems with jobs."""

from __future__ import annotations

from paddleflow.problems.base import Aborted, AlreadyExists, FailedPrecondition, NotFound


class JobNotFound(NotFound):
    """No job of this id that the caller may see."""

    reason = "JOB_NOT_FOUND"


class JobExists(AlreadyExists):
    """There is a job of this id, or was one not long ago."""

    reason = "JOB_EXISTS"


class JobStateConflict(FailedPrecondition):
    """The job's state does not allow this."""

    reason = "JOB_STATE"


class DatasetNotFound(NotFound):
    """The job has no dataset of this name."""

    reason = "DATASET_NOT_FOUND"


class DatasetDiffers(AlreadyExists):
    """The job has a dataset of this name, which was described otherwise."""

    reason = "DATASET_DIFFERS"


class NotServed(FailedPrecondition):
    """No cluster of this installation can do what the job needs."""

    reason = "NOT_SERVED"


class OwnerEpochConflict(Aborted):
    """Whoever the job is for has been taken over by a later one."""

    reason = "OWNER_EPOCH"
