"""What the SDK speaks of: plain immutable values, free of the wire format.

Amounts of resources are whole numbers (thousandths of a core, bytes, pieces); `paddleflow.quantity` reads and writes
them as people do. Fields that say "output only" are filled by the server and ignored in what is sent.
"""

from __future__ import annotations

from paddleflow.models.audit import AuditFilter, AuditRecord, ServerInfo
from paddleflow.models.clusters import (
    Cluster,
    ClusterChanges,
    ClusterFilter,
    ClusterStatus,
    ClusterType,
    Flavour,
    FlavourChanges,
    FlavourFilter,
    Node,
    NodeFilter,
)
from paddleflow.models.pages import Page
from paddleflow.models.queues import (
    Isolation,
    OrderPolicy,
    PreemptionPolicy,
    Queue,
    QueueChanges,
    QueueFilter,
    QueueState,
    QuotaType,
)
from paddleflow.models.users import Grant, GrantFilter, Identity, NewToken, ResourceKind, Token, User
from paddleflow.models.watches import Bookmark, Change, ChangeKind, Reset, WatchItem

__all__ = [
    "AuditFilter",
    "AuditRecord",
    "Bookmark",
    "Change",
    "ChangeKind",
    "Cluster",
    "ClusterChanges",
    "ClusterFilter",
    "ClusterStatus",
    "ClusterType",
    "Flavour",
    "FlavourChanges",
    "FlavourFilter",
    "Grant",
    "GrantFilter",
    "Identity",
    "Isolation",
    "NewToken",
    "Node",
    "NodeFilter",
    "OrderPolicy",
    "Page",
    "PreemptionPolicy",
    "Queue",
    "QueueChanges",
    "QueueFilter",
    "QueueState",
    "QuotaType",
    "Reset",
    "ResourceKind",
    "ServerInfo",
    "Token",
    "User",
    "WatchItem",
]
