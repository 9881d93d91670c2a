"""The use cases of the service, put together around its stores."""

from __future__ import annotations

from dataclasses import dataclass

from pf_kit.clock import Clock
from pf_queue.accounts.domain import Lifetimes
from pf_queue.accounts.passwords import Passwords
from pf_queue.accounts.service import Credentials, Grants, Tokens, Users
from pf_queue.accounts.store import AccountStore
from pf_queue.accounts.throttle import Throttle
from pf_queue.admission.store import WorkloadStore
from pf_queue.clusters.flavours import Flavours
from pf_queue.clusters.service import Clusters
from pf_queue.clusters.store import ClusterStore, FlavourStore
from pf_queue.quota.commitments import Commitments
from pf_queue.quota.register import QueueRegister
from pf_queue.quota.service import Queues
from pf_queue.quota.store import QueueStore
from pf_queue.quota.tenants import QueueTenants
from pf_queue.quota.visibility import Visibility


@dataclass(frozen=True, slots=True)
class Stores:
    """Where everything is kept."""

    accounts: AccountStore
    clusters: ClusterStore
    flavours: FlavourStore
    queues: QueueStore
    workloads: WorkloadStore


@dataclass(frozen=True, slots=True)
class Parts:
    """What can be done."""

    credentials: Credentials
    users: Users
    tokens: Tokens
    grants: Grants
    clusters: Clusters
    flavours: Flavours
    queues: Queues
    visibility: Visibility


def put_together(stores: Stores, *, passwords: Passwords, lifetimes: Lifetimes, clock: Clock) -> Parts:
    """The use cases over these stores."""
    credentials = Credentials(store=stores.accounts, passwords=passwords, throttle=Throttle(), clock=clock)
    grants = Grants(store=stores.accounts, resources=QueueRegister(store=stores.queues))
    commitments = Commitments(queues=stores.queues, clusters=stores.clusters)
    visibility = Visibility(grants=grants)
    queues = Queues(
        store=stores.queues,
        clusters=stores.clusters,
        commitments=commitments,
        grants=grants,
        visibility=visibility,
        occupancy=stores.workloads,
    )
    flavours = Flavours(store=stores.flavours, clusters=stores.clusters)
    tenants = QueueTenants(store=stores.queues, queues=queues, commitments=commitments)
    return Parts(
        credentials=credentials,
        users=Users(store=stores.accounts, credentials=credentials, grants=grants, belongings=flavours),
        tokens=Tokens(store=stores.accounts, credentials=credentials, lifetimes=lifetimes, clock=clock),
        grants=grants,
        clusters=Clusters(store=stores.clusters, flavours=stores.flavours, tenants=tenants),
        flavours=flavours,
        queues=queues,
        visibility=visibility,
    )
