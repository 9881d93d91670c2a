"""Problems with clusters, flavours, queues and workloads."""

from __future__ import annotations

from paddleflow.problems.base import (
    AlreadyExists,
    FailedPrecondition,
    NotFound,
    PermissionDenied,
)


class QueueNotGranted(PermissionDenied):
    """The queue is not granted to you; ask root for a grant."""

    reason = "QUEUE_NOT_GRANTED"


class QueueNotFound(NotFound):
    """No queue of this name."""

    reason = "QUEUE_NOT_FOUND"


class ParentNotFound(NotFound):
    """No queue of this name in the cluster to stand below."""

    reason = "PARENT_NOT_FOUND"


class FlavourNotFound(NotFound):
    """No flavour of this name."""

    reason = "FLAVOUR_NOT_FOUND"


class ClusterNotFound(NotFound):
    """No cluster of this name."""

    reason = "CLUSTER_NOT_FOUND"


class QueueExists(AlreadyExists):
    """A queue of this name exists."""

    reason = "QUEUE_EXISTS"


class FlavourExists(AlreadyExists):
    """A flavour of this name exists."""

    reason = "FLAVOUR_EXISTS"


class ClusterExists(AlreadyExists):
    """A cluster of this name exists."""

    reason = "CLUSTER_EXISTS"


class QueueHasChildren(FailedPrecondition):
    """The queue has queues below it; delete them first."""

    reason = "QUEUE_HAS_CHILDREN"


class QueueNotEmpty(FailedPrecondition):
    """The queue has unfinished workloads; close it and wait, or stop them."""

    reason = "QUEUE_NOT_EMPTY"


class QueueStateConflict(FailedPrecondition):
    """The queue's state does not allow this."""

    reason = "QUEUE_STATE"


class Immutable(FailedPrecondition):
    """The field cannot be changed after creation."""

    reason = "IMMUTABLE"


class ClusterNotEmpty(FailedPrecondition):
    """The cluster has queues or flavours; delete them first."""

    reason = "CLUSTER_NOT_EMPTY"


class ClusterOffline(FailedPrecondition):
    """The cluster is offline."""

    reason = "CLUSTER_OFFLINE"


class NamespaceNotAllowed(FailedPrecondition):
    """The cluster does not allow this namespace."""

    reason = "NAMESPACE_NOT_ALLOWED"


class NamespaceInUse(FailedPrecondition):
    """A queue uses the namespace."""

    reason = "NAMESPACE_IN_USE"


class StaleRevision(FailedPrecondition):
    """A newer report of machines is stored already."""

    reason = "STALE_REVISION"


class QuotaRefused(FailedPrecondition):
    """The quota tree does not allow this."""


class QueueCycle(QuotaRefused):
    """The queue would stand below itself."""

    reason = "QUEUE_CYCLE"


class TreeTooDeep(QuotaRefused):
    """The quota tree would be too deep."""

    reason = "TREE_TOO_DEEP"


class MinExceedsMax(QuotaRefused):
    """The guarantee is above the ceiling."""

    reason = "MIN_EXCEEDS_MAX"


class MaxExceedsParent(QuotaRefused):
    """The ceiling is above the parent's."""

    reason = "MAX_EXCEEDS_PARENT"


class MinExceedsParent(QuotaRefused):
    """The guarantees of the parent's children would be more than the parent's own."""

    reason = "MIN_EXCEEDS_PARENT"


class MinExceedsCluster(QuotaRefused):
    """The guarantees of the cluster's queues would be more than its machines."""

    reason = "MIN_EXCEEDS_CLUSTER"


class ChildrenUncovered(QuotaRefused):
    """The change would leave queues below with more than the queue has."""

    reason = "CHILDREN_UNCOVERED"


class LendExceedsMin(QuotaRefused):
    """More would be lent than is guaranteed."""

    reason = "LEND_EXCEEDS_MIN"


class ResourceNotDeclared(QuotaRefused):
    """A resource is named that is not declared above."""

    reason = "RESOURCE_NOT_DECLARED"


class QuotaTypeConflict(QuotaRefused):
    """The quota type does not allow this."""

    reason = "QUOTA_TYPE"


class PhysicalIsolationConflict(QuotaRefused):
    """Physical isolation does not allow this."""

    reason = "PHYSICAL_ISOLATION"


class WorkloadNotFound(NotFound):
    """No workload of this key."""

    reason = "WORKLOAD_NOT_FOUND"


class WorkloadExists(AlreadyExists):
    """A workload of this key was submitted with other content; use the next attempt."""

    reason = "WORKLOAD_EXISTS"


class WorkloadStateConflict(FailedPrecondition):
    """The workload's state does not allow this."""

    reason = "WORKLOAD_STATE"


class GrantMismatch(FailedPrecondition):
    """The workload holds something else; read it again."""

    reason = "GRANT_MISMATCH"


class NeverFits(FailedPrecondition):
    """The workload asks for more than there can ever be for it."""

    reason = "NEVER_FITS"
