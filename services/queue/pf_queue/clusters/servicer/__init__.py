"""ClusterService and FlavourService on the wire."""

from __future__ import annotations

from pf_queue.clusters.servicer.clusters import ClusterServicer
from pf_queue.clusters.servicer.flavours import FlavourServicer

__all__ = ["ClusterServicer", "FlavourServicer"]
