"""Which client pods are made and deleted, given what there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from pf_csi.clients.domain import PAUSE, ClientPod, Create, Forget, Machine, Remove, Step, steps
from pf_csi.clients.leading import Pace, claimed
from pf_csi.clients.manifests import TEMPLATE, client_pod, digest, read_machines, read_pod
from pf_csi.holder import telling
from pf_csi.kubernetes import Thing
from pf_csi.mount_objects import MountObject, manifest, read, status

NEW, OLD = "new", "old"
NAMES = ("a", "b")
ONE = {"a": Machine("a", "uid-a")}

machines = st.dictionaries(st.sampled_from(NAMES), st.booleans()).map(
    lambda found: {name: Machine(name, f"uid-{name}", spares) for name, spares in found.items()}
)
pods = st.lists(
    st.builds(
        ClientPod,
        st.integers(0, 9).map(lambda number: f"client-{number}"),
        st.sampled_from(NAMES),
        st.sampled_from([NEW, OLD]),
        ready=st.booleans(),
        finished=st.booleans(),
        ending=st.booleans(),
    ),
    unique_by=lambda pod: pod.name,
    max_size=8,
)
mounts = st.lists(
    st.builds(
        MountObject,
        st.integers(0, 9).map(str),
        st.sampled_from(NAMES),
        st.just("volume"),
        st.one_of(st.just(""), st.integers(0, 9).map(lambda number: f"client-{number}")),
    ),
    unique_by=lambda mount: mount.key,
    max_size=6,
)


def done(found: Sequence[Step], there: Sequence[ClientPod], told: Sequence[MountObject]) -> list[ClientPod]:
    """Once a little time has passed: what was made runs, what was deleted and serves nothing is gone.

    What is of an old version and is not ready may never be.
    """
    serving = {mount.pod for mount in told}
    removed = {step.name for step in found if isinstance(step, Remove)}
    made = [ClientPod(step.name, step.machine.name, NEW) for step in found if isinstance(step, Create)]
    left = [replace(pod, ending=pod.ending or pod.name in removed) for pod in there]
    left = [pod for pod in left if not pod.ending or (pod.name in serving and not pod.finished)]
    return [replace(pod, ready=not pod.finished and (pod.ready or pod.template == NEW)) for pod in [*left, *made]]


@given(machines, mounts, pods, st.integers(0, 2))
def test_soon_there_are_as_many_as_are_needed_all_of_the_newest_version(
    there: dict[str, Machine], told: list[MountObject], running: list[ClientPod], spares: int
) -> None:
    for _ in range(40):
        found = steps(there, told, running, NEW, spares)
        forgotten = {step.key for step in found if isinstance(step, Forget)}
        running = done(found, running, told)
        told = [mount for mount in told if mount.key not in forgotten]
        # Whoever stays takes over what those serve that end.
        staying = [pod for pod in running if not pod.ending and not pod.finished]
        served = {mount.pod for mount in told} & {pod.name for pod in staying}
        idle = {name: [pod for pod in staying if pod.machine == name and pod.name not in served] for name in NAMES}
        told = [
            mount
            if mount.pod in served or not idle[mount.machine]
            else replace(mount, pod=idle[mount.machine].pop().name)
            for mount in told
        ]
        serving = {mount.pod for mount in told}
        running = [pod for pod in running if not pod.ending or pod.name in serving]
    alive = [pod for pod in running if not pod.ending]
    needed = Counter(mount.machine for mount in told)
    for machine in there.values():
        wanted = needed[machine.name] + (spares if machine.spares else 0)
        of_machine = [pod for pod in alive if pod.machine == machine.name]
        assert len(of_machine) == wanted
        assert all(pod.template == NEW for pod in of_machine)
    assert all(pod.machine in there for pod in alive)
    assert all(mount.machine in there for mount in told)


@given(machines, mounts, pods, st.integers(0, 2))
def test_nobody_who_serves_is_deleted_but_for_an_upgrade(
    there: dict[str, Machine], told: list[MountObject], running: list[ClientPod], spares: int
) -> None:
    found = steps(there, told, running, NEW, spares)
    removed = {step.name for step in found if isinstance(step, Remove)}
    serving = {(mount.machine, mount.pod) for mount in told}
    for pod in running:
        if pod.name in removed and (pod.machine, pod.name) in serving and pod.machine in there and not pod.finished:
            assert pod.template == OLD
            others = [each for each in running if each.machine == pod.machine and each.name in removed]
            assert [each for each in others if not each.finished] == [pod]


@given(machines, mounts, pods, st.integers(0, 2))
def test_names_of_new_pods_are_free(
    there: dict[str, Machine], told: list[MountObject], running: list[ClientPod], spares: int
) -> None:
    names = [step.name for step in steps(there, told, running, NEW, spares) if isinstance(step, Create)]
    assert len(set(names) | {pod.name for pod in running}) == len(names) + len(running)


def test_a_spare_waits_where_the_driver_is() -> None:
    found = steps(ONE, [], [], NEW, 1)
    assert [type(step) for step in found] == [Create]
    assert steps({"a": replace(ONE["a"], spares=False)}, [], [], NEW, 1) == []


def test_a_pod_that_is_told_to_go_is_replaced_while_it_serves() -> None:
    told = [MountObject("key", "a", "volume", "serving")]
    running = [ClientPod("serving", "a", NEW, ready=True, ending=True)]
    assert [type(step) for step in steps(ONE, told, running, NEW, 0)] == [Create]


def test_a_pod_that_failed_is_replaced_after_a_while() -> None:
    failed = ClientPod("failed", "a", NEW, finished=True, failed_for=PAUSE / 2)
    assert steps(ONE, [], [failed], NEW, 1) == []
    later = steps(ONE, [], [replace(failed, failed_for=PAUSE)], NEW, 1)
    assert [type(step) for step in later] == [Remove, Create]


def test_who_waits_is_upgraded_first_and_one_at_a_time() -> None:
    told = [MountObject("key", "a", "volume", "serving")]
    serving, waiting = (ClientPod(name, "a", OLD, ready=True) for name in ("serving", "waiting"))
    assert steps(ONE, told, [serving, waiting], NEW, 1) == [Remove("waiting")]
    newcomer = ClientPod("newcomer", "a", NEW)
    assert steps(ONE, told, [serving, newcomer], NEW, 1) == []
    assert steps(ONE, told, [serving, replace(newcomer, ready=True)], NEW, 1) == [Remove("serving")]


def test_who_never_became_ready_does_not_hold_up_who_follows() -> None:
    """Its image has a name that was mistyped, say, and the template is right by now."""
    told = [MountObject("key", "a", "volume", "serving")]
    serving, broken = ClientPod("serving", "a", OLD, ready=True), ClientPod("broken", "a", OLD)
    found = steps(ONE, told, [serving, broken], NEW, 1)
    assert found[0] == Remove("broken")
    assert [type(step) for step in found[1:]] == [Create]


def test_who_serves_and_is_not_ready_does_not_hold_up_who_follows() -> None:
    told = [MountObject("key", "a", "volume", "serving")]
    running = [ClientPod("serving", "a", OLD), ClientPod("waiting", "a", NEW, ready=True)]
    assert steps(ONE, told, running, NEW, 1) == [Remove("serving")]


TEMPLATE_POD: Thing = {"metadata": {"labels": {"app": "client"}, "annotations": {}}, "spec": {"containers": []}}


def test_a_pod_is_of_its_template_its_machine_and_nobody_else() -> None:
    pod = client_pod(TEMPLATE_POD, "client-0", ONE["a"])
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = required["nodeSelectorTerms"]
    assert term == {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
    assert "nodeName" not in pod["spec"]
    assert pod["metadata"]["ownerReferences"][0]["uid"] == "uid-a"
    assert pod["metadata"]["labels"] == {"app": "client", TEMPLATE: digest(TEMPLATE_POD)}
    now = datetime(2026, 1, 1, tzinfo=UTC)
    told = {**pod, "status": {"phase": "Failed"}}
    created = (now - timedelta(seconds=3)).isoformat()
    told["metadata"] = {**pod["metadata"], "uid": "uid-0", "creationTimestamp": created}
    digested = digest(TEMPLATE_POD)
    assert read_pod(told, now) == ClientPod("client-0", "a", digested, finished=True, failed_for=3.0, uid="uid-0")


def test_a_pod_is_deleted_and_no_other_of_its_name() -> None:
    assert steps({}, [], [ClientPod("name", "a", NEW, uid="first")], NEW, 0) == [Remove("name", "first")]


def test_a_pod_that_waits_for_room_is_of_its_machine() -> None:
    """Nothing says yet where it runs; who made another one each time would not end."""
    pod = client_pod(TEMPLATE_POD, "client-0", Machine("b" * 253, "uid-b"))
    waiting = {**pod, "metadata": {**pod["metadata"], "uid": "uid-0"}, "status": {"phase": "Pending"}}
    assert read_pod(waiting, datetime(2026, 1, 1, tzinfo=UTC)).machine == "b" * 253


def test_a_pod_that_nobody_owns_is_of_the_machine_that_runs_it() -> None:
    pod = {
        "metadata": {"name": "other", "uid": "uid-0"},
        "spec": {"nodeName": "a"},
        "status": {"phase": "Running"},
    }
    assert read_pod(pod, datetime(2026, 1, 1, tzinfo=UTC)).machine == "a"


def test_machines_that_take_no_pods_have_no_spares() -> None:
    def node(name: str, **spec: object) -> Thing:
        return {"metadata": {"uid": name}, "spec": spec}

    nodes = {"with": node("with"), "without": node("without"), "closed": node("closed", unschedulable=True)}
    there: Thing = {"spec": {"drivers": [{"name": "driver"}]}}
    plugins: dict[str, Thing] = {"with": there, "without": {"spec": {"drivers": None}}, "closed": there}
    found = read_machines(nodes, plugins, "driver")
    assert {name: machine.spares for name, machine in found.items()} == {
        "with": True,
        "without": False,
        "closed": False,
    }


def test_an_object_says_what_was_written() -> None:
    mount = MountObject("key", "a", "volume")
    assert read(manifest(mount)) == mount
    assert read({**manifest(mount), **status("pod")}) == replace(mount, pod="pod")


@given(
    st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "x", "y"])),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "x", "y"])),
)
def test_objects_become_what_is_mounted(wanted: dict[str, str], there: dict[str, str]) -> None:
    objects = [{key: MountObject(key, "a", "volume", pod) for key, pod in each.items()} for each in (wanted, there)]
    left = dict(there)
    for step in telling.steps(*objects):
        match step:
            case telling.Create(mount):
                assert mount.key not in left
                left[mount.key] = ""
            case telling.Describe(mount):
                left[mount.key] = mount.pod
            case telling.Delete(key):
                del left[key]
    assert left == wanted


PACE = Pace(15.0, 10.0, 5.0)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_one_leads_until_it_does_not_renew() -> None:
    mine = claimed(None, "me", NOW, PACE, expired=False)
    assert mine is not None
    assert claimed({"spec": mine}, "other", NOW, PACE, expired=False) is None
    again = claimed({"spec": mine}, "me", NOW + timedelta(seconds=5), PACE, expired=False)
    assert again is not None
    assert (again["acquireTime"], again["leaseTransitions"]) == (mine["acquireTime"], 0)
    theirs = claimed({"spec": mine}, "other", NOW, PACE, expired=True)
    assert theirs is not None
    assert (theirs["holderIdentity"], theirs["leaseTransitions"]) == ("other", 1)
