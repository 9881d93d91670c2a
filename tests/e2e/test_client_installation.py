"""The client against a whole installation: both SDKs, the original's class, the command line, the demo."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from paddleflow import Client, PaddleFlow, aio, connect, connect_configured
from paddleflow.models import (
    Bookmark,
    Change,
    ChangeKind,
    Cluster,
    ClusterType,
    Flavour,
    Grant,
    Node,
    OrderPolicy,
    PreemptionPolicy,
    Queue,
    QueueState,
    QuotaType,
    ResourceKind,
    WatchItem,
)
from paddleflow.problems import (
    EtagMismatch,
    InvalidArgument,
    MinExceedsParent,
    PermissionDenied,
    QueueNotFound,
    QueueNotGranted,
    RequestIdReused,
    TokenRevoked,
    Unavailable,
    UserExists,
    WrongPassword,
)
from support.installation import Installation, installation
from support.repository import BIN, ROOT
from teams import setting as teams

CLUSTER = "client-tests"
"""Has no machines, so that guarantees in it are not limited."""

pytestmark = pytest.mark.xdist_group("client-installation")


@pytest.fixture(scope="module")
def made() -> Iterator[Installation]:
    with installation() as running:
        yield running


@pytest.fixture
def client(made: Installation) -> Iterator[PaddleFlow]:
    with connect_configured(made.config) as opened:
        yield opened


@pytest.fixture
def name(client: PaddleFlow) -> Iterator[str]:
    """A name that nothing has yet, for things in a cluster that lasts as long as the test."""
    client.clusters.create(Cluster(CLUSTER, type=ClusterType.LOCAL))
    yield f"t{secrets.token_hex(5)}"
    client.clusters.delete(CLUSTER, cascade=True)


def queue(name: str, **more: Any) -> Queue:
    return Queue(name, cluster=CLUSTER, max={"cpu": 8000, "memory": 2**34}, **more)


def test_users_come_and_go(client: PaddleFlow, name: str) -> None:
    user = client.users.create(name, "pass12")
    assert client.users.get(name) == user
    assert user in client.users.list()
    with pytest.raises(UserExists):
        client.users.create(name, "pass12")
    client.users.delete(name)
    assert name not in {each.name for each in client.users.list()}


def test_a_password_is_changed_by_its_user(made: Installation, client: PaddleFlow, name: str) -> None:
    client.users.create(name, "pass12")
    with connect(made.address, user=name, password="pass12") as own:
        with pytest.raises(WrongPassword):
            own.users.set_password("pass34", old_password="wrong")
        own.users.set_password("pass34", old_password="pass12")
    with connect(made.address, user=name, password="pass34") as own:
        assert own.tokens.who_am_i().user == name
        with pytest.raises(PermissionDenied):
            own.users.page()
    client.users.delete(name)


def test_tokens_are_made_listed_and_revoked(made: Installation, client: PaddleFlow, name: str) -> None:
    made_now = client.tokens.create(name, lifetime=timedelta(hours=2))
    assert made_now.token in client.tokens.list(user="root")
    with connect(made.address, token=made_now.secret) as own:
        identity = own.tokens.who_am_i()
        assert (identity.user, identity.root, identity.expire_time) == ("root", True, made_now.token.expire_time)
        client.tokens.revoke(made_now.token.id)
        with pytest.raises(TokenRevoked):
            own.tokens.who_am_i()


def test_a_queue_has_all_that_was_asked_for_and_changes_one_by_one(client: PaddleFlow, name: str) -> None:
    asked = queue(
        name,
        min={"cpu": 2000},
        lend_limit={"cpu": 1000},
        weight=7,
        priority=-3,
        preemption_policy=PreemptionPolicy.RECLAIM_ONLY,
        order_policy=OrderPolicy.STRICT_FIFO,
        max_jobs=5,
        max_per_user={"cpu": 500},
        max_jobs_per_user=2,
        labels={"stage": "test"},
    )
    queue_made = client.queues.create(asked)
    for field in ("min", "max", "lend_limit", "weight", "priority", "preemption_policy", "order_policy", "labels"):
        assert getattr(queue_made, field) == getattr(asked, field), field
    assert (queue_made.state, queue_made.quota_type) == (QueueState.OPEN, QuotaType.ELASTIC)
    changed = client.queues.update(
        name, max={"nvidia.com/gpu": 4}, min={"cpu": 1000}, labels={"stage": None, "a/b": "c"}, weight=9
    )
    assert changed.max == {**asked.max, "nvidia.com/gpu": 4}
    assert (changed.min, changed.labels, changed.weight, changed.priority) == ({"cpu": 1000}, {"a/b": "c"}, 9, -3)
    assert client.queues.update(name, max={"nvidia.com/gpu": None}).max == asked.max
    with pytest.raises(EtagMismatch):
        client.queues.update(name, weight=1, etag=queue_made.etag)
    for move, state in (("hold", QueueState.HELD), ("drain", QueueState.DRAINING), ("open", QueueState.OPEN)):
        assert getattr(client.queues, move)(name).state is state
    assert client.queues.close(name).state is QueueState.CLOSED
    client.queues.delete(name)
    with pytest.raises(QueueNotFound):
        client.queues.get(name)


def test_a_refused_queue_tells_the_field(client: PaddleFlow, name: str) -> None:
    client.queues.create(queue(name, min={"cpu": 1000}))
    with pytest.raises(MinExceedsParent):
        client.queues.create(queue(f"{name}-1", parent=name, min={"cpu": 2000}))
    with pytest.raises(InvalidArgument) as refused:
        client.queues.create(queue("No Name"))
    assert refused.value.violations[0].field == "queue.name"
    client.queues.delete(name)


def test_a_change_sent_twice_happens_once(client: PaddleFlow, name: str) -> None:
    first = client.queues.create(queue(name), request_id=name)
    assert client.queues.create(queue(name), request_id=name) == first
    with pytest.raises(RequestIdReused):
        client.queues.create(queue(f"{name}-1"), request_id=name)
    client.queues.delete(name)


def test_filters_and_pages_of_queues(client: PaddleFlow, name: str) -> None:
    names = [f"{name}-{number}" for number in range(5)]
    for each in names:
        client.queues.create(queue(each, labels={"n": each[-1]}))
    client.queues.hold(names[3])
    assert [each.name for each in client.queues.list(name_prefix=name)] == names
    page = client.queues.page(2, name_prefix=name)
    assert [each.name for each in client.queues.page(2, page.next_token, name_prefix=name).items] == names[2:4]
    assert [each.name for each in client.queues.list(name_prefix=name, labels={"n": "1"})] == names[1:2]
    assert [each.name for each in client.queues.list(name_prefix=name, states=[QueueState.HELD])] == names[3:4]
    for each in names:
        client.queues.delete(each)


def test_a_grant_shows_a_queue_to_a_user(made: Installation, client: PaddleFlow, name: str) -> None:
    client.users.create(name, "pass12")
    client.queues.create(queue(name))
    with connect(made.address, user=name, password="pass12") as own:
        with pytest.raises(QueueNotGranted):
            own.queues.get(name)
        granted = client.grants.create(Grant(name, ResourceKind.QUEUE, name))
        assert own.queues.get(name).name == name
        assert list(own.grants.list()) == [granted]
        client.grants.delete(granted)
        assert list(own.queues.list()) == []
    client.queues.delete(name)
    client.users.delete(name)


def test_clusters_their_machines_and_flavours(client: PaddleFlow, name: str) -> None:
    cluster = client.clusters.create(Cluster(name, type=ClusterType.LOCAL, namespaces=("a", "b")))
    assert client.clusters.update(name, namespaces=["a"], description="d").namespaces == ("a",)
    nodes = [Node(f"n{number}", {"cpu": 4000, "memory": 2**33}, {"zone": str(number)}) for number in range(3)]
    assert client.clusters.report_nodes(name, cluster.revision + 1, nodes).capacity == {
        "cpu": 12000,
        "memory": 3 * 2**33,
    }
    assert [each.name for each in client.clusters.nodes(clusters=[name], labels={"zone": "1"})] == ["n1"]
    client.flavours.create(Flavour(name, {"cpu": 1000, "memory": 2**30, "x/y": 1}, cluster=name))
    changed = client.flavours.update(name, resources={"cpu": 2000, "x/y": None})
    assert changed.resources == {"cpu": 2000, "memory": 2**30}
    assert [each.name for each in client.flavours.list(name_prefix=name)] == [name]
    client.clusters.delete(name, cascade=True)
    assert list(client.clusters.list(names=[name])) == []


def test_every_change_is_in_the_audit_log(client: PaddleFlow, name: str) -> None:
    began = datetime.now(UTC) - timedelta(minutes=1)
    client.queues.create(queue(name), request_id=name)
    client.queues.delete(name)
    deleted, created = client.audit.list(subject=f"queue/{name}", actor="user/root", since=began)
    assert (created.method, created.request_id) == ("/paddleflow.queue.v1.QueueService/CreateQueue", name)
    assert deleted.method.endswith("/DeleteQueue")


async def until_caught_up(watching: AsyncIterator[WatchItem[Queue]]) -> list[WatchItem[Queue]]:
    items = [await anext(watching)]
    while not (isinstance(items[-1], Bookmark) and items[-1].caught_up):
        items.append(await anext(watching))
    return items


async def insist(client: aio.AsyncPaddleFlow, name: str, weight: int) -> None:
    """Sends the change until it is acknowledged; its id sees to it that it happens once."""
    request_id = secrets.token_hex(8)
    async with asyncio.timeout(30):
        while True:
            try:
                await client.queues.update(name, weight=weight, request_id=request_id)
            except Unavailable:
                continue
            return


async def test_a_watch_goes_on_while_the_service_is_killed(made: Installation, name: str) -> None:
    seen: list[tuple[ChangeKind, int]] = []
    async with aio.connect(made.address, user="root", password=made.root_password) as client:
        watching = client.queues.watch()
        await until_caught_up(watching)
        await client.queues.create(queue(name, weight=1))
        for weight in range(2, 8):
            if weight == 4:
                kill_queue(made)
            await insist(client, name, weight)
        await client.queues.delete(name)
        while not seen or seen[-1][0] is not ChangeKind.DELETED:
            match await asyncio.wait_for(anext(watching), 30):
                case Change(kind, value) if value.name == name:
                    seen.append((kind, value.weight))
    assert seen == [
        (ChangeKind.CREATED, 1),
        *((ChangeKind.UPDATED, weight) for weight in range(2, 8)),
        (ChangeKind.DELETED, 7),
    ]


def kill_queue(made: Installation) -> None:
    status = subprocess.run([BIN / "pf", "status", "-o", "json"], env=made.environment, capture_output=True, check=True)
    pid = next(each["pid"] for each in json.loads(status.stdout)["processes"] if each["name"] == "queue")
    subprocess.run(["kill", "-9", str(pid)], check=True)


def test_the_class_of_the_original(made: Installation, name: str) -> None:
    host, _, port = made.address.rpartition(":")
    client = Client(host, "root", made.root_password, port)
    limits = {"cpu": "4", "mem": "8Gi", "scalarResources": {"nvidia.com/gpu": 1}}
    assert client.add_queue(name, "default", CLUSTER, limits, {"cpu": 1, "mem": "1Gi"}) == (True, None)
    ok, shown = client.show_queue(name)
    assert ok
    assert not isinstance(shown, str)
    assert shown.status == "open"
    assert shown.idleResources == shown.maxResources == limits | {"scalarResources": {"nvidia.com/gpu": "1"}}
    assert client.update_queue(name, {"cpu": "5"}) == (True, None)
    assert client.del_queue(name) == (True, None)
    ok, message = client.show_queue(name)
    assert (ok, name in str(message)) == (False, True)
    client.close()


def paddleflow(made: Installation, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BIN / "paddleflow", *words], env=made.environment, capture_output=True, text=True)


def arrays(text: str) -> list[Any]:
    """The JSON arrays that stand one after another."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(text):
        array, end = decoder.raw_decode(text, at)
        found.append(array)
        at = end + 1
    return found


def test_the_command_line_makes_shows_and_removes_a_queue(made: Installation, name: str) -> None:
    created = paddleflow(
        made, "queue", "create", name, "default", "4", "8Gi", "--mincpu", "2", "-cn", CLUSTER, "-o", "json"
    )
    [summary], [details] = arrays(created.stdout)
    assert (summary["name"], details["min resources"]) == (name, {"cpu": "2", "mem": "0"})
    assert created.stderr == f"queue[{name}] create success\n"
    [shown], [shown_details] = arrays(paddleflow(made, "queue", "show", name, "-o", "json").stdout)
    # What is used, and so what is left, only those tell who look.
    used = {"used resources": {"cpu": "0", "mem": "0"}, "idle resources": {"cpu": "4", "mem": "8Gi"}}
    assert (shown, shown_details) == (summary, details | used)
    assert f"`- {name}  weight 100" in paddleflow(made, "queue", "tree", name).stdout
    assert paddleflow(made, "queue", "update", name, "--mincpu", "5").returncode == 1
    assert paddleflow(made, "queue", "delete", name).stdout == f"queue[{name}] delete success\n"
    gone = paddleflow(made, "queue", "show", name)
    assert (gone.returncode, gone.stdout) == (1, "")
    assert gone.stderr.startswith("queue show failed with message[")


def python(made: Installation, *words: str) -> subprocess.CompletedProcess[str]:
    folder = ROOT / "demo"
    return subprocess.run([sys.executable, *words], cwd=folder, env=made.environment, capture_output=True, text=True)


def test_the_demo_shows_what_it_says_and_clears_it_away(made: Installation, client: PaddleFlow) -> None:
    shown = python(made, "queues.py")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert shown.stdout.count("failed with message[") == 4
    assert re.search(r"watch \| .* updated +speech +weight 100 -> 200, max cpu 24 -> 28", shown.stdout)
    assert {each.name for each in client.queues.list(parent="research")} == {"speech", "vision"}
    cleared = python(made, "-c", "import queues; queues.clear()")
    assert (cleared.returncode, cleared.stderr) == (0, "")
    assert [each.name for each in client.queues.list()] == ["default-queue"]


def test_the_demo_of_teams_sees_what_it_promises(made: Installation, client: PaddleFlow) -> None:
    shown = python(made, "-m", "teams")
    assert (shown.returncode, shown.stderr) == (0, ""), shown.stdout + shown.stderr
    assert shown.stdout.isascii()
    rows = re.findall(r"(?m)^ +\d+\.\d s  (?:\[.{8}\] +\d+  ){4} +[\d,]+  (.+)$", shown.stdout)
    assert len(rows) <= 25
    assert {"ranking has the whole cluster", "language has its guarantee", "all is done"} <= set(rows)
    assert re.search(
        r"(?m)^2,443 jobs of 4 teams in [\d.]+ s: [\d,]+ admissions \(\d+ a second\), \d+ evict", shown.stdout
    )
    assert len(re.findall(r"(?m)^seen      ", shown.stdout)) == 7
    assert "NOT SEEN" not in shown.stdout
    left = client.workloads.loads(queue="lab")
    assert {(load.queue, load.admitted, load.waiting) for load in left} == {
        (name, 0, 0) for name in ("lab", "ranking", "language", "guests", "physics")
    }


async def clear_teams(made: Installation) -> None:
    async with aio.connect_configured(made.config) as client:
        await teams.clear(client)


def test_ctrl_c_ends_the_demo_of_teams_and_the_next_one_clears_it_away(made: Installation, client: PaddleFlow) -> None:
    words = [sys.executable, "-u", "-m", "teams"]
    folder, environment = ROOT / "demo", made.environment
    with subprocess.Popen(
        words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as demo:
        assert demo.stdout is not None
        assert any("ranking has the whole cluster" in line for line in demo.stdout)
        demo.send_signal(signal.SIGINT)
        _, told = demo.communicate(timeout=10)
    assert (demo.returncode, told) == (130, "\nInterrupted.\n")
    asyncio.run(clear_teams(made))
    assert "lab" not in {each.name for each in client.queues.list()}
