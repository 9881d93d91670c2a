"""The queue service, put together."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from prometheus_client import CollectorRegistry

from paddleflow.auth.v1 import auth_pb2_grpc
from paddleflow.queue.v1 import admission_pb2_grpc, cluster_pb2_grpc, queue_pb2_grpc
from pf_kit.auth import TokenAuthenticator
from pf_kit.ground import Ground, Identity, candidate, chores, new_registry, service_on, standing
from pf_kit.leading import LeaseLeader
from pf_kit.leases import Leadership
from pf_kit.lifecycle import Loops, Program, Stop, serve
from pf_kit.listen import advertised
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.postgres.leases import PostgresLeases, fence
from pf_kit.server import Service, ServiceServer
from pf_kit.token_status import CachedTokenStatus
from pf_kit.tokens import Signer, Verifier, key_id
from pf_queue.accounts.passwords import Passwords
from pf_queue.accounts.postgres import RETENTIONS as ACCOUNT_RETENTIONS
from pf_queue.accounts.postgres import PostgresAccountStore
from pf_queue.accounts.seeds import seed_root
from pf_queue.accounts.servicer import AuthServicer, GrantServicer, Issuer, UserServicer
from pf_queue.accounts.servicer import Lists as AccountLists
from pf_queue.accounts.status import StoredTokenStatus
from pf_queue.admission.engines import Engines, PlainEngines
from pf_queue.admission.journal.engines import RecordedEngines
from pf_queue.admission.journal.writer import Writer
from pf_queue.admission.layouts import StoredLayouts
from pf_queue.admission.leading import Leading
from pf_queue.admission.metrics import AdmissionMetrics, rounds_unlogged
from pf_queue.admission.postgres import RETENTIONS as ADMISSION_RETENTIONS
from pf_queue.admission.postgres import PostgresWorkloadStore
from pf_queue.admission.service import Workloads
from pf_queue.admission.servicer import AdmissionServicer
from pf_queue.clusters.domain import ClusterFilter
from pf_queue.clusters.postgres import PostgresClusterStore, PostgresFlavourStore
from pf_queue.clusters.servicer import ClusterServicer, FlavourServicer
from pf_queue.clusters.store import TREE_LOCK
from pf_queue.clusters.vault import Vault
from pf_queue.facts import encode
from pf_queue.parts import Parts, Stores, put_together
from pf_queue.quota.postgres import PostgresQueueStore
from pf_queue.quota.servicer import QueueServicer
from pf_queue.quota.watching import Tellers
from pf_queue.seeds import Seeds
from pf_queue.settings import AdmissionSettings, QueueSettings

NAME = "queue"
ADMISSION = "admission"
"""The lease of the instance that decides."""
IDENTITY = Identity(NAME, version("paddleflow-server"), files("pf_queue") / "sql" / "migrations", encode)
CLUSTERS_AT_ONCE = 100
"""Read by one query, credentials of up to 256 KiB included."""


@dataclass(frozen=True, slots=True)
class Base:
    """What the parts stand on."""

    ground: Ground
    stores: Stores


async def main(settings: QueueSettings, stop: Stop) -> None:
    """Runs the service until it is told to stop."""
    async with standing(settings, IDENTITY) as ground:
        base = Base(ground, _stores())
        passwords = Passwords(threads=settings.accounts.password_threads)
        parts = put_together(
            base.stores, passwords=passwords, lifetimes=settings.accounts.lifetimes, clock=ground.clock
        )
        vault = Vault(settings.vault_key)
        await _require_key(base, vault)
        await _sow(settings, base, parts)
        registry = new_registry()
        with _engines(settings.admission, registry) as engines:
            leading = _leading(base, parts, registry, engines)
            wish = candidate(ground, ADMISSION, settings.address)
            server = _server(settings, base, parts, vault, registry, leading, wish)

            async def lead() -> None:
                # The port may have been chosen only now.
                wish.address = settings.address or advertised(server.addresses[0])
                await wish.run(leading.run)

            await serve(server, {**_loops(settings, ground), ADMISSION: lead}, stop)


PROGRAM = Program(NAME, IDENTITY.version, "PF_QUEUE", QueueSettings, main)


def _stores() -> Stores:
    return Stores(
        PostgresAccountStore(),
        PostgresClusterStore(),
        PostgresFlavourStore(),
        PostgresQueueStore(),
        PostgresWorkloadStore(),
    )


async def _require_key(base: Base, vault: Vault) -> None:
    """Fails at once, rather than when a credential is needed, if the key is not the one they were sealed with."""
    clusters, name = base.stores.clusters, ""
    while page := await clusters.clusters(base.ground.database.newest, ClusterFilter(), name, CLUSTERS_AT_ONCE):
        for cluster in page:
            vault.open(cluster.name, cluster.credential)
        name = page[-1].name


async def _sow(settings: QueueSettings, base: Base, parts: Parts) -> None:
    stores, database = base.stores, base.ground.database
    given = settings.accounts.root_password
    password = given.reveal() if given else f"{secrets.token_urlsafe(16)}a1"
    if await seed_root(database, stores.accounts, parts.users, password) and given is None:
        sys.stdout.write(f"The user root has the password {password}\nIt is shown this once; change it soon.\n")
        sys.stdout.flush()
    if settings.seeds:
        await Seeds(stores.clusters, parts.clusters, parts.flavours, parts.queues).sow(database)


@contextmanager
def _engines(settings: AdmissionSettings, registry: CollectorRegistry) -> Iterator[Engines]:
    """What decides; logged if that is wanted."""
    keeping = settings.rounds.keeping
    if keeping is None:
        yield PlainEngines(settings.tuning, settings.patience)
        return
    writer = Writer(keeping, rounds_unlogged(registry).inc)
    engines = RecordedEngines(settings.tuning, settings.patience, IDENTITY.version, writer)
    try:
        yield engines
    finally:
        engines.close()


def _leading(base: Base, parts: Parts, registry: CollectorRegistry, engines: Engines) -> Leading:
    ground, stores, metrics = base.ground, base.stores, AdmissionMetrics(registry)

    async def closed(queue: str) -> None:
        async with ground.database.change(TREE_LOCK) as change:
            await parts.queues.settle(change, queue)

    leading = Leading(
        database=ground.database,
        store=stores.workloads,
        layouts=StoredLayouts(clusters=stores.clusters, queues=stores.queues),
        fence=fence,
        clock=ground.clock,
        engines=engines,
        stored=metrics.stored,
        closed=closed,
    )
    metrics.show(lambda: leading.engine, lambda: len(leading.aside))
    return leading


def _server(
    settings: QueueSettings,
    base: Base,
    parts: Parts,
    vault: Vault,
    registry: CollectorRegistry,
    leading: Leading,
    wish: Leadership,
) -> ServiceServer:
    ground, stores = base.ground, base.stores
    database, clock, install = ground.database, ground.clock, ground.install
    signer = Signer(settings.signing_key.reveal().encode())
    older = [Path(file).read_bytes() for file in settings.older_keys]
    keys = {key_id(key): key for key in (signer.public_key, *older)}
    status = CachedTokenStatus(StoredTokenStatus(database=database, store=stores.accounts, clock=clock), clock)
    authenticator = TokenAuthenticator(Verifier(keys, issuer=install.installation, clock=clock), status, clock)
    leader = LeaseLeader(wish, PostgresLeases(ground.view), ADMISSION, clock)
    service = service_on(ground, authenticator, install.installation, registry, leader)
    server = ServiceServer(settings.server, service)
    issuer = Issuer(signer=signer, installation=install.installation, older_keys=older)
    mutations = Mutations(database, install.secret)
    _add_accounts(server, service, mutations, parts, issuer, status)
    _add_tree(server, service, mutations, parts, stores, vault)
    _add_admission(server, service, settings, parts, stores, leading)
    return server


def _add_accounts(
    server: ServiceServer,
    service: Service,
    mutations: Mutations,
    parts: Parts,
    issuer: Issuer,
    status: CachedTokenStatus,
) -> None:
    database, watches, lists = service.database, service.watches, AccountLists(tokens=service.page_tokens)
    server.add(
        auth_pb2_grpc.add_AuthServiceServicer_to_server,
        AuthServicer(
            database=database,
            mutations=mutations,
            lists=lists,
            tokens=parts.tokens,
            grants=parts.grants,
            issuer=issuer,
            status=status,
        ),
    )
    server.add(
        auth_pb2_grpc.add_UserServiceServicer_to_server,
        UserServicer(
            database=database,
            mutations=mutations,
            lists=lists,
            watches=watches,
            users=parts.users,
            credentials=parts.credentials,
            status=status,
        ),
    )
    server.add(
        auth_pb2_grpc.add_GrantServiceServicer_to_server,
        GrantServicer(database=database, mutations=mutations, lists=lists, watches=watches, grants=parts.grants),
    )


def _add_tree(
    server: ServiceServer, service: Service, mutations: Mutations, parts: Parts, stores: Stores, vault: Vault
) -> None:
    database, watches, lists = service.database, service.watches, Lists(tokens=service.page_tokens)
    server.add(
        cluster_pb2_grpc.add_ClusterServiceServicer_to_server,
        ClusterServicer(
            database=database,
            mutations=mutations,
            lists=lists,
            watches=watches,
            clusters=parts.clusters,
            vault=vault,
        ),
    )
    server.add(
        cluster_pb2_grpc.add_FlavourServiceServicer_to_server,
        FlavourServicer(database=database, mutations=mutations, lists=lists, watches=watches, flavours=parts.flavours),
    )
    server.add(
        queue_pb2_grpc.add_QueueServiceServicer_to_server,
        QueueServicer(
            database=database,
            mutations=mutations,
            lists=lists,
            watches=watches,
            queues=parts.queues,
            tellers=Tellers(database=database, store=stores.queues, grants=parts.grants),
        ),
    )


def _add_admission(
    server: ServiceServer,
    service: Service,
    settings: QueueSettings,
    parts: Parts,
    stores: Stores,
    leading: Leading,
) -> None:
    database, visibility = service.database, parts.visibility
    workloads = Workloads(
        database=database,
        store=stores.workloads,
        leading=leading,
        visibility=visibility,
        layouts=StoredLayouts(clusters=stores.clusters, queues=stores.queues),
        tuning=settings.admission.tuning,
    )
    server.add(
        admission_pb2_grpc.add_AdmissionServiceServicer_to_server,
        AdmissionServicer(
            database=database,
            lists=Lists(tokens=service.page_tokens),
            watches=service.watches,
            workloads=workloads,
            store=stores.workloads,
            visibility=visibility,
        ),
    )


def _loops(settings: QueueSettings, ground: Ground) -> Loops:
    """One instance does the chores."""
    address = settings.address or settings.server.listen[0]
    return {"chores": chores(ground, settings, address, *ACCOUNT_RETENTIONS, *ADMISSION_RETENTIONS).run}
