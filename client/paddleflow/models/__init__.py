"""What the SDK speaks of: plain immutable values, free of the wire format.

Amounts of resources are whole numbers (thousandths of a core, bytes, pieces); `paddleflow.quantity` reads and writes
them as people do. Fields that say "output only" are filled by the server and ignored in what is sent.
"""

from __future__ import annotations

from paddleflow.models.audit import AuditRecord, ServerInfo
from paddleflow.models.clusters import (
    Cluster,
    ClusterChanges,
    ClusterStatus,
    ClusterType,
    Flavour,
    FlavourChanges,
    Node,
)
from paddleflow.models.queues import (
    Isolation,
    OrderPolicy,
    PreemptionPolicy,
    Queue,
    QueueChanges,
    QueueState,
    QuotaType,
)
from paddleflow.models.users import Grant, Identity, NewToken, ResourceKind, Token, User
from paddleflow.models.watches import Bookmark, Change, ChangeKind, Reset, WatchItem

__all__ = [
    "AuditRecord",
    "Bookmark",
    "Change",
    "ChangeKind",
    "Cluster",
    "ClusterChanges",
    "ClusterStatus",
    "ClusterType",
    "Flavour",
    "FlavourChanges",
    "Grant",
    "Identity",
    "Isolation",
    "NewToken",
    "Node",
    "OrderPolicy",
    "PreemptionPolicy",
    "Queue",
    "QueueChanges",
    "QueueState",
    "QuotaType",
    "Reset",
    "ResourceKind",
    "ServerInfo",
    "Token",
    "User",
    "WatchItem",
]
