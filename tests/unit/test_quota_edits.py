"""What an update mask does, for all records that are edited through one."""

from __future__ import annotations

from typing import Any

import pytest

from paddleflow.problems import EtagMismatch, Immutable, InvalidArgument
from pf_queue.clusters.domain import Cluster, ClusterType
from pf_queue.clusters.service import EDITABLE as CLUSTER
from pf_queue.edits import MOST_PATHS, Editable, edited, named, require_etag
from pf_queue.quota.domain import Isolation, QuotaType
from pf_queue.quota.service import EDITABLE as QUEUE
from support.trees import queue

GPU = "nvidia.com/gpu"
STORED = queue("q", max={"cpu": 1, GPU: 2}, min={"cpu": 1}, labels={"stage": "old", "a.b": "c"}, weight=7, priority=3)
GIVEN = queue("q", max={"cpu": 9}, labels={"stage": "new"}, weight=8, priority=4, parent="above")


def change(*mask: str) -> object:
    return edited(STORED, GIVEN, mask, QUEUE)


def test_only_what_the_mask_names_is_taken() -> None:
    after = edited(STORED, GIVEN, ["weight", "parent"], QUEUE)
    assert (after.weight, after.parent) == (8, "above")
    assert (after.priority, after.max, after.labels) == (STORED.priority, STORED.max, STORED.labels)


def test_resources_and_labels_are_taken_whole_or_one_by_one() -> None:
    assert edited(STORED, GIVEN, ["max"], QUEUE).max == {"cpu": 9}
    assert edited(STORED, GIVEN, ["max.amounts.cpu"], QUEUE).max == {"cpu": 9, GPU: 2}
    assert edited(STORED, GIVEN, [f"max.amounts.{GPU}"], QUEUE).max == {"cpu": 1}
    assert edited(STORED, GIVEN, ["max.amounts.cpu", f"max.amounts.{GPU}"], QUEUE).max == {"cpu": 9}
    assert edited(STORED, GIVEN, ["labels.stage"], QUEUE).labels == {"stage": "new", "a.b": "c"}
    assert edited(STORED, GIVEN, ["labels.a.b"], QUEUE).labels == {"stage": "old"}
    assert edited(STORED, GIVEN, ["labels"], QUEUE).labels == {"stage": "new"}


def test_removing_what_is_not_there_changes_nothing() -> None:
    assert edited(STORED, GIVEN, ["max.amounts.fpga", "labels.none"], QUEUE) == STORED


def test_a_field_may_be_called_otherwise_in_the_record() -> None:
    stored = Cluster(name="c1", type=ClusterType.LOCAL)
    given = Cluster(name="c1", type=ClusterType.LOCAL, software_version="1.30")
    assert edited(stored, given, ["version"], CLUSTER).software_version == "1.30"


OUTPUT_ONLY = ["used", "state", "etag", "effective_max", "create_time"]
HALF = ["max.cpu", "max.", "max.amounts", "max.amounts_.cpu", "labels.", "weight.x"]
UNKNOWN = ["", ".", "*", "queue.weight", "Weight", "__class__", "version", "x" * 9_999]


@pytest.mark.parametrize("path", [*OUTPUT_ONLY, *HALF, *UNKNOWN])
def test_a_path_that_is_no_field_to_change_is_refused(path: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        change(path)
    assert [violation.field for violation in refused.value.violations] == ["update_mask"]
    assert len(refused.value.message) < 200


def test_a_mask_names_some_fields_and_not_too_many() -> None:
    with pytest.raises(InvalidArgument, match="update_mask: names no field: nothing to change is given"):
        change()
    with pytest.raises(InvalidArgument, match="must name at most 256 fields, not 257"):
        change(*["weight"] * (MOST_PATHS + 1))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cluster", "other"),
        ("namespace", "other"),
        ("quota_type", QuotaType.CAPABILITY),
        ("isolation", Isolation.PHYSICAL),
    ],
)
def test_some_fields_never_change(field: str, value: Any) -> None:
    with pytest.raises(Immutable, match=f"^{field} cannot be changed after creation; make a new one$") as refused:
        edited(STORED, queue("q", **{field: value}), [field], QUEUE)
    assert [violation.field for violation in refused.value.violations] == ["update_mask"]
    assert edited(STORED, STORED, [field], QUEUE) == STORED


def test_a_name_is_never_taken() -> None:
    with pytest.raises(Immutable, match="name cannot be changed"):
        change("name")
    with pytest.raises(ValueError, match="never edited"):
        Editable(whole=frozenset({"name"}))


def test_a_mask_tells_which_fields_it_touches() -> None:
    assert named(["max.amounts.cpu", "labels.a.b", "weight"]) == {"max", "labels", "weight"}


def test_an_etag_must_be_that_of_the_stored_state_if_it_is_given() -> None:
    require_etag("", "1f")
    require_etag("1f", "1f")
    with pytest.raises(EtagMismatch, match="changed since etag '1e': it is '1f' now"):
        require_etag("1e", "1f")
