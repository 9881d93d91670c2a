"""Events of all parts of the service, ready to be stored."""

from __future__ import annotations

from pf_kit.events import Fact
from pf_queue.accounts import convert as accounts
from pf_queue.accounts.domain import GrantChanged, UserChanged
from pf_queue.admission import convert as admission
from pf_queue.admission.domain import Admitted, Evicting, Released, Requeued, Submitted, Updated
from pf_queue.clusters import convert as clusters
from pf_queue.clusters.domain import ClusterChanged, FlavourChanged
from pf_queue.quota import convert as quota
from pf_queue.quota.domain import QueueChanged


def encode(event: object) -> Fact:
    """The event as its part writes it; TypeError for what no part tells."""
    match event:
        case UserChanged() | GrantChanged():
            return accounts.fact(event)
        case ClusterChanged() | FlavourChanged():
            return clusters.fact(event)
        case QueueChanged():
            return quota.fact(event)
        case Submitted() | Admitted() | Evicting() | Released() | Requeued() | Updated():
            return admission.fact(event)
        case _:
            raise TypeError(f"{type(event).__name__} is no event of this service")
