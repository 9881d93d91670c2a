"""Everything that can go wrong, as one tree of exceptions, the same in services and in clients.

::

    Problem
    ├── InvalidArgument ── PasswordTooWeak, RequestIdReused, PageTokenInvalid, ResumeTokenInvalid
    ├── Unauthenticated ── TokenMissing, TokenInvalid, TokenExpired, TokenRevoked, WrongPassword
    ├── PermissionDenied ── QueueNotGranted
    ├── NotFound ── UserNotFound, TokenNotFound, GrantNotFound, QueueNotFound, ParentNotFound, FlavourNotFound, …
    ├── AlreadyExists ── UserExists, GrantExists, QueueExists, FlavourExists, ClusterExists, WorkloadExists
    ├── FailedPrecondition
    │   ├── QuotaRefused ── MinExceedsMax, MaxExceedsParent, MinExceedsParent, ChildrenUncovered, QueueCycle, …
    │   └── UserIsRoot, QueueHasChildren, QueueNotEmpty, QueueStateConflict, ClusterNotEmpty, NeverFits, …
    ├── Aborted ── EtagMismatch, Conflict
    ├── OutOfRange ── ResumeTokenExpired
    ├── ResourceExhausted ── Overloaded, TooManyCalls, TooManyAttempts, WatchTooSlow
    ├── Unavailable ── DatabaseUnavailable, ShuttingDown, NoLeader
    ├── DeadlineExceeded
    └── Internal

A problem says what happened in its message, and to programs in its ``code`` (how to react) and ``reason`` (what
exactly).
"""

from __future__ import annotations

from paddleflow.problems.auth import (
    GrantExists,
    GrantNotFound,
    PasswordTooWeak,
    TokenNotFound,
    TooManyAttempts,
    UserExists,
    UserIsRoot,
    UserNotFound,
    WrongPassword,
)
from paddleflow.problems.base import (
    Aborted,
    AlreadyExists,
    Code,
    DeadlineExceeded,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    OutOfRange,
    PermissionDenied,
    Problem,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    Violation,
    tree,
)
from paddleflow.problems.general import (
    Conflict,
    DatabaseUnavailable,
    EtagMismatch,
    NoLeader,
    Overloaded,
    PageTokenInvalid,
    RequestIdReused,
    ResumeTokenExpired,
    ResumeTokenInvalid,
    ShuttingDown,
    TokenExpired,
    TokenInvalid,
    TokenMissing,
    TokenRevoked,
    TooManyCalls,
    WatchTooSlow,
)
from paddleflow.problems.queue import (
    ChildrenUncovered,
    ClusterExists,
    ClusterNotEmpty,
    ClusterNotFound,
    ClusterOffline,
    FlavourExists,
    FlavourNotFound,
    GrantMismatch,
    Immutable,
    LendExceedsMin,
    MaxExceedsParent,
    MinExceedsCluster,
    MinExceedsMax,
    MinExceedsParent,
    NamespaceInUse,
    NamespaceNotAllowed,
    NeverFits,
    ParentNotFound,
    PhysicalIsolationConflict,
    QueueCycle,
    QueueExists,
    QueueHasChildren,
    QueueNotEmpty,
    QueueNotFound,
    QueueNotGranted,
    QueueStateConflict,
    QuotaRefused,
    QuotaTypeConflict,
    ResourceNotDeclared,
    StaleRevision,
    TreeTooDeep,
    WorkloadExists,
    WorkloadNotFound,
    WorkloadStateConflict,
)

__all__ = [
    "Aborted",
    "AlreadyExists",
    "ChildrenUncovered",
    "ClusterExists",
    "ClusterNotEmpty",
    "ClusterNotFound",
    "ClusterOffline",
    "Code",
    "Conflict",
    "DatabaseUnavailable",
    "DeadlineExceeded",
    "EtagMismatch",
    "FailedPrecondition",
    "FlavourExists",
    "FlavourNotFound",
    "GrantExists",
    "GrantMismatch",
    "GrantNotFound",
    "Immutable",
    "Internal",
    "InvalidArgument",
    "LendExceedsMin",
    "MaxExceedsParent",
    "MinExceedsCluster",
    "MinExceedsMax",
    "MinExceedsParent",
    "NamespaceInUse",
    "NamespaceNotAllowed",
    "NeverFits",
    "NoLeader",
    "NotFound",
    "OutOfRange",
    "Overloaded",
    "PageTokenInvalid",
    "ParentNotFound",
    "PasswordTooWeak",
    "PermissionDenied",
    "PhysicalIsolationConflict",
    "Problem",
    "QueueCycle",
    "QueueExists",
    "QueueHasChildren",
    "QueueNotEmpty",
    "QueueNotFound",
    "QueueNotGranted",
    "QueueStateConflict",
    "QuotaRefused",
    "QuotaTypeConflict",
    "RequestIdReused",
    "ResourceExhausted",
    "ResourceNotDeclared",
    "ResumeTokenExpired",
    "ResumeTokenInvalid",
    "ShuttingDown",
    "StaleRevision",
    "TokenExpired",
    "TokenInvalid",
    "TokenMissing",
    "TokenNotFound",
    "TokenRevoked",
    "TooManyAttempts",
    "TooManyCalls",
    "TreeTooDeep",
    "Unauthenticated",
    "Unavailable",
    "UserExists",
    "UserIsRoot",
    "UserNotFound",
    "Violation",
    "WatchTooSlow",
    "WorkloadExists",
    "WorkloadNotFound",
    "WorkloadStateConflict",
    "WrongPassword",
    "tree",
]
