"""What has to be done so that what is mounted is what was published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from paddleflow.mountinfo import KIND, Mount, Mounts
from pf_csi.held import Held, State
from pf_csi.node.domain import Entry
from pf_csi.node.recalling import bound
from pf_csi.node.reconciling import (
    MOST_LAYERS,
    Forget,
    Peel,
    Rebind,
    RebindWithin,
    Recall,
    Release,
    Step,
    steps,
    subpaths_of,
)

PODS = "/k/pods/"
POD = f"{PODS}p"
TARGET = f"{POD}/volumes/kubernetes.io~csi/pv/mount"
AT = "/k/plugins/mounts/key/at"
ENTRY = Entry(TARGET, "v", "key", "shape", "p", False, 1, "boot")
HELD = {"key": Held("key", State.READY, 1, AT)}
NEW, OLD = "0:2", "0:1"


def mount(place: str, device: str = NEW, root: str = "/") -> Mount:
    return Mount(place, device, root, False, KIND, "")


def wanted(
    mounts: Sequence[Mount],
    held: dict[str, Held] = HELD,
    boot: str = "boot",
    busy: frozenset[str] = frozenset(),
    entries: Sequence[Entry] | None = None,
) -> list[Step]:
    return steps(Mounts(mounts), [ENTRY] if entries is None else entries, held, boot, busy, PODS)


def test_what_is_as_it_should_be_stays() -> None:
    assert wanted([mount(AT), mount(TARGET)]) == []


def test_a_mount_that_was_made_anew_is_bound_over_the_old_one() -> None:
    assert wanted([mount(AT), mount(TARGET, OLD)]) == [Rebind(ENTRY, AT)]


def test_layers_that_containers_were_started_with_stay_but_for_too_many() -> None:
    layers = [mount(TARGET, f"0:{number}") for number in range(10, 10 + MOST_LAYERS)]
    assert wanted([mount(AT), *layers[:-1]]) == [Rebind(ENTRY, AT)]
    assert wanted([mount(AT), *layers]) == [Peel(ENTRY, TARGET), Rebind(ENTRY, AT)]


def test_what_was_taken_off_comes_back() -> None:
    assert wanted([mount(AT)]) == [Rebind(ENTRY, AT)]


def test_after_a_reboot_the_kubelet_asks_again() -> None:
    assert wanted([], {}, boot="another") == [Forget(ENTRY)]
    assert wanted([mount(AT)], boot="another") == [Forget(ENTRY)]


def test_nothing_can_be_bound_that_is_not_there() -> None:
    lost = {"key": replace(HELD["key"], state=State.LOST)}
    assert wanted([mount(AT), mount(TARGET, OLD)], lost) == []
    assert wanted([mount(TARGET, OLD)]) == []


def test_folders_of_pods_are_bound_with_what_they_were() -> None:
    part = f"{POD}/volume-subpaths/pv/container/0"
    foreign = Mount(f"{POD}/volume-subpaths/pv/container/1", "8:1", "/", False, "ext4", "")
    other = mount(f"{POD}/volume-subpaths/pv-2/container/0", OLD)
    found = wanted([mount(AT), mount(TARGET), mount(part, OLD, "/a/b"), foreign, other])
    assert found == [RebindWithin(ENTRY, AT, "a/b", part)]


def test_what_nobody_uses_is_released_once_nothing_is_under_way() -> None:
    held = {**HELD, "spare": Held("spare", State.READY), "ending": Held("ending", State.ENDING)}
    there = [mount(AT), mount(TARGET)]
    assert wanted(there, held) == [Release("spare")]
    assert wanted(there, held, busy=frozenset({"/other"})) == []


def test_what_is_under_way_is_left_to_whoever_does_it() -> None:
    assert wanted([mount(AT)], busy=frozenset({TARGET})) == []


def test_only_a_pods_volume_has_folders_of_containers() -> None:
    assert subpaths_of(TARGET) == f"{POD}/volume-subpaths/pv/"
    assert [subpaths_of(path) for path in ("/mount", "/a/b/c/d/mount", f"{TARGET}/x", "")] == [""] * 4


def test_what_the_kernel_shows_is_used_whatever_is_written_down() -> None:
    there = [mount(AT), mount(TARGET), mount(f"{POD}/volume-subpaths/pv/container/0", root="/a")]
    assert wanted(there, entries=[]) == [Recall(TARGET)]
    assert wanted(there, entries=[], busy=frozenset({TARGET})) == []
    assert wanted([there[0], there[2]], entries=[]) == [], "a folder of it is used, too"
    elsewhere = [mount(AT), mount("/k/plugins/else"), mount("/mnt")]
    assert wanted(elsewhere, entries=[]) == [Release("key")]


def test_what_is_recalled_is_as_the_kernel_and_the_kubelet_say() -> None:
    there = replace(mount(TARGET), read_only=True, source="paddleflow:v")
    (found,) = bound(Mounts([mount(AT), there]), HELD, PODS)
    recalled = replace(ENTRY, shape="", read_only=True)
    for kubelets in (b"", b"nonsense", b"[]", b'{"volumeHandle": "v"}'):
        assert found.entry(kubelets, "boot") == recalled
    assert found.entry(b'{"volumeHandle": "other"}', "boot").volume == "other"


def test_what_appears_within_a_volume_is_no_target() -> None:
    """The kernel shows what is bound over a folder for one container in the volume too."""
    within = [mount(f"{TARGET}/part", root="/part"), mount(f"{POD}/volume-subpaths/pv/main/0", root="/part")]
    assert [each.is_target for each in bound(Mounts([mount(AT), mount(TARGET), *within]), HELD, PODS)] == [
        True,
        False,
        False,
    ]


DEVICES = st.sampled_from([OLD, NEW, "0:7"])


@given(layers=st.lists(DEVICES, max_size=MOST_LAYERS + 2), source=DEVICES)
def test_after_the_steps_nothing_is_left_to_do(layers: list[str], source: str) -> None:
    """Applied to the list of mounts, they lead to what was published, and the first layer is never taken off."""
    mounts = [mount(AT, source), *(mount(TARGET, device) for device in layers)]
    for step in wanted(mounts):
        match step:
            case Peel(_, place):
                last = max(index for index, each in enumerate(mounts) if each.place == place)
                del mounts[last]
            case Rebind(entry):
                mounts.append(mount(entry.target, source))
    assert wanted(mounts) == []
    after = [each.device for each in mounts if each.place == TARGET]
    assert after[-1] == source
    assert after[: 1 if layers else 0] == layers[:1]
