"""Documents of jobs, read into messages, written, and read again."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import HealthCheck, given, settings

from paddleflow.common.v1.resources_pb2 import Resources
from paddleflow.job.v1 import spec_pb2 as pb
from paddleflow.jobs.documents import FRAMEWORKS, PRIORITIES, ROLES, read_spec
from paddleflow.jobs.render import document, to_yaml
from paddleflow.problems import InvalidArgument
from pf_job.frameworks.check import violations
from pf_job.specs.convert import given_spec, spec_message
from pf_job.specs.domain import JobSpec, Role
from pf_job.specs.magic import read
from support.job_specs import SPECS, right
from support.repository import ROOT

FOLDER = ROOT / "tests/data/jobs"
LIKE_OTHERS = (
    *("1", "1.0", ".5", "1e5", "0o7", "007", "yes", "true", "null", "~", "", "-", "a: b", "<<", "#", "\x85\u2028"),
    *("- a", "\t", "\n", " a\nb ", "a\n", "a\n\n", "\\ud83d\\ude00", "'", '"', "&a", "*a", "!a"),
)


def spec_of(name: str) -> pb.JobSpec:
    return read_spec((FOLDER / name).read_bytes())


def wrong(text: str | bytes) -> list[tuple[str, str]]:
    with pytest.raises(InvalidArgument) as caught:
        read_spec(text)
    return [(violation.field, violation.description) for violation in caught.value.violations]


def test_a_single_job_as_tools_write_it() -> None:
    assert spec_of("single.json") == pb.JobSpec(
        name="sleeper",
        scheduling_policy=pb.SchedulingPolicy(queue="team-a"),
        flavour=pb.Flavour(name="flavour1"),
        image="registry.example.com/train:1",
        command="sleep 4",
    )


def test_workers_of_a_collective_job() -> None:
    assert spec_of("collective.json") == pb.JobSpec(
        framework=pb.FRAMEWORK_PADDLE,
        scheduling_policy=pb.SchedulingPolicy(queue="team-a", priority=pb.PRIORITY_NORMAL),
        members=[
            pb.Member(
                role=pb.ROLE_WORKER,
                replicas=2,
                flavour=pb.Flavour(amounts=Resources(amounts={"cpu": 2000, "memory": 2**32, "nvidia.com/gpu": 1})),
                limit_flavour=pb.LimitFlavour(none=True),
                image="registry.example.com/train:1",
                command="sleep 5",
            )
        ],
    )


def test_parameter_servers_and_what_their_workers_were_called() -> None:
    spec = spec_of("parameter_servers.json")
    assert [member.role for member in spec.members] == [pb.ROLE_PSERVER, pb.ROLE_WORKER]
    assert (spec.name, spec.scheduling_policy.priority) == ("ps 🚀", pb.PRIORITY_HIGH)


def test_an_object_of_kubernetes_stays_as_it_is() -> None:
    spec = spec_of("spark.json")
    assert MessageToDict(spec.extension_template) == {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"labels": {"a": "b"}, "name": "job-1"},
        "spec": {
            "driver": {"cores": 2, "memory": "1G", "ratio": 0.5, "on": True, "none": None, "env": [{"name": "a"}]}
        },
    }
    assert not spec.members[0].HasField("extension_template")


def test_all_that_a_document_can_say() -> None:
    spec = spec_of("everything.yaml")
    assert spec.framework == pb.FRAMEWORK_PYTORCH
    assert spec.scheduling_policy.priority == pb.PRIORITY_VERY_HIGH
    assert dict(spec.annotations) == {"note": "yes"}
    assert dict(spec.flavour.amounts.amounts) == {"cpu": 500, "memory": 3 * 2**29, "nvidia.com/gpu": 2}
    assert dict(spec.limit_flavour.flavour.amounts.amounts) == {"cpu": 2000, "memory": 3 * 2**30}
    assert spec.fs == pb.FilesystemMount(name="bob/data", mount_path="/mnt/data", sub_path="a/b", read_only=True)
    assert list(spec.extra_fs) == [pb.FilesystemMount(id="fs-bob-more")]
    assert dict(spec.env) == {
        "NUMBER": "1",
        "EXACT": "0x1F",
        "WORD": "yes",
        "TRUTH": "true",
        "NOTHING": "",
        "VERSION": "1.10",
    }
    assert spec.secret_env["TOKEN"].file == "/run/token"
    assert (spec.command, list(spec.args), spec.port) == ("echo a\necho b\n", ["--rate", "1e-3", "true"], 2000)
    assert [member.role for member in spec.members] == [pb.ROLE_MASTER, pb.ROLE_WORKER, pb.ROLE_EVALUATOR]
    assert {(each.replicas, each.max_replicas, each.replica_step) for each in spec.members[1:]} == {(2, 8, 2)}
    assert dict(spec.members[2].env) == {"OWN": "1"}
    retry, limits = spec.retry, spec.limits
    assert (retry.limit, list(retry.not_on), retry.no_requeue) == (3, [3, 4], True)
    assert [retry.backoff.seconds, retry.max_backoff.seconds] == [90, 5400]
    assert [limits.pending.seconds, limits.run.seconds, limits.grace.nanos] == [86400, 129600, 500_000_000]
    assert [limits.protected.seconds, limits.kept.seconds, limits.steady.seconds] == [600, 5400, 20]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_the_service_takes_what_people_write(path: Path) -> None:
    settled = read(given_spec(read_spec(path.read_bytes())), None)
    assert list(violations(settled.spec, settled.type)) == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("[!R]*")), ids=lambda path: path.stem)
def test_it_is_the_same_without_the_fast_parser(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = read_spec(path.read_bytes())
    monkeypatch.delattr("yaml.CSafeLoader", raising=False)
    assert read_spec(path.read_bytes()) == fast


@pytest.mark.parametrize("path", sorted(FOLDER.glob("[!R]*")), ids=lambda path: path.stem)
def test_what_was_shown_can_be_created_again(path: Path) -> None:
    spec = read_spec(path.read_bytes())
    assert read_spec(to_yaml(spec)) == spec


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(SPECS)
def test_any_job_survives_being_written(spec: JobSpec) -> None:
    message = spec_message(right(spec))
    assert given_spec(read_spec(to_yaml(message))) == given_spec(message)


@pytest.mark.parametrize("text", LIKE_OTHERS)
def test_texts_that_look_like_something_else_stay_texts(text: str) -> None:
    message = pb.JobSpec(env={"A": text, text or "B": text}, args=[text, text])
    message.extension_template.update({"a": text, "b": [text]})
    assert read_spec(to_yaml(message)) == message


def test_every_word_of_a_document_is_one_of_the_contract() -> None:
    assert sorted([0, *PRIORITIES.values()]) == sorted(pb.Priority.values())
    assert sorted([0, *FRAMEWORKS.values()]) == sorted(pb.Framework.values())
    assert sorted([0, pb.ROLE_MAIN, *ROLES.values()]) == sorted(pb.Role.values())
    assert sorted(["main", *ROLES]) == sorted(Role)


def test_a_document_leaves_out_what_is_empty() -> None:
    assert document(pb.JobSpec()) == {}
    assert document(spec_message(JobSpec(id="a"))) == {"id": "a"}
    assert to_yaml(pb.JobSpec(id="a", members=[pb.Member(role=pb.ROLE_WORKER, replicas=1)])) == (
        "id: a\nmembers:\n- role: worker\n  replicas: 1\n"
    )


def test_amounts_are_written_as_quantities() -> None:
    amounts = Resources(amounts={"cpu": 1500, "memory": 2**31, "b": 1, "a": 2})
    message = pb.JobSpec(flavour=pb.Flavour(amounts=amounts))
    assert document(message) == {"flavour": {"cpu": "1500m", "mem": "2Gi", "scalarResources": {"a": "2", "b": "1"}}}


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("", [("file", "says nothing; a job needs a command, args or an image (line 1, column 1)")]),
        ("a", [("file", "must be an object, with names and values (line 1, column 1)")]),
        ("[]", []),
        ("- a", [("file", "must be an object, with names and values (line 1, column 1)")]),
        ("comand: a", [("comand", "is unknown; did you mean command? (line 1, column 1)")]),
        ("a: b\n", [("a", "is unknown; there are ")]),
        ("unknown:\nuserName: ''\nmembers: []\n", []),
        ("extrafs: [1]", [("extrafs", "is unknown; did you mean extraFS? (line 1, column 1)")]),
        ("flavour:\n  disk: 1", [("flavour.disk", "is unknown; there are cpu, ")]),
        ("flavour: {GPU: 1}", [("flavour.GPU", "is unknown; write scalarResources: {nvidia.com/gpu: 1} (line 1, ")]),
        ("flavour:\n\tcpu: 1", [("file", "has a tab where YAML takes spaces only (line 2, column 1)")]),
        ("members:\n- {role: worker, rol: a}", [("members[0].rol", "is unknown; did you mean role? (line 2")]),
        ("members:\n- {replicas: 1}", [("members[0].role", "must be said: ")]),
        ("members:\n- {role: boss}", [("members[0].role", "must be one of master, ")]),
        ("framework: torch", [("framework", "must be one of standalone, paddle, ")]),
        ("schedulingPolicy: {priority: 5}", [("schedulingPolicy.priority", "must be one of VERY_HIGH, ")]),
        ("port: many", [("port", "must be a whole number, and is 'many' (line 1, column 7)")]),
        ("port: 99999999999", [("port", "must be a whole number")]),
        ("port: [1]", [("port", "must be a text (line 1, column 7)")]),
        ("command: {a: b}", [("command", "must be a text")]),
        ("args: a b", [("args", "must be a list")]),
        ("env: [A=1]", [("env", "must be an object")]),
        ("env: {A: [1]}", [("env.A", "must be a text (line 1, column 10)")]),
        ("fs: {readOnly: sometimes}", [("fs.readOnly", "must be true or false, and is 'sometimes'")]),
        ("flavour: {cpu: lots}", [("flavour.cpu", "'lots' is not a quantity")]),
        ("flavour: {mem: -1}", [("flavour.mem", "'-1' is negative")]),
        ("flavour: {mem: 1, memory: 1}", [("flavour.memory", "is the same as mem")]),
        ("flavour: {scalarResources: {a b: 1}}", [("flavour.scalarResources.a b", "a resource name is")]),
        ("limits: {run: soon}", [("limits.run", "must be a time such as 90s, 10m or 1h30m, and is 'soon'")]),
        ("limits: {run: 999999999999}", [("limits.run", "must be a time")]),
        ("secretEnv: {A: /a}", [("secretEnv.A", "must be an object")]),
        ("secretEnv: {A: {path: /a}}", [("secretEnv.A.path", "is unknown")]),
        ("extensionTemplate: {a: 1" + "0" * 399 + "}", [("extensionTemplate.a", "is a number larger")]),
        ("env: {A: 1, A: 2}", [("file", "'A' is there twice, first in line 1, column 7 (line 1, column 13)")]),
        ("a: [", [("file", "is neither YAML nor JSON: ")]),
        ("a: \"\\ud800\"", [("file", "")]),
        ("a: b\n---\na: c", [("file", "has more than one document (line 2, column 1)")]),
        ("command: !!python/object:os.system x", [("file", "has a tag, ")]),
        ("env: *nobody", [("file", "")]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(text: str, places: list[tuple[str, str]]) -> None:
    if not places:
        assert read_spec(text) == pb.JobSpec()
        return
    found = wrong(text)
    assert [field for field, _ in found] == [field for field, _ in places]
    assert all(told.startswith(start) for (_, told), (_, start) in zip(found, places, strict=True))


def test_everything_wrong_is_told_at_once() -> None:
    text = "port: a\nfs: {mountpath: /a}\nmembers:\n- {role: worker, replicas: b}\n- {port: 1}\n"
    assert [field for field, _ in wrong(text)] == ["port", "fs.mountpath", "members[0].replicas", "members[1].role"]


def test_no_more_is_told_than_anybody_reads() -> None:
    found = wrong("\n".join(f"unknown{number}: 1" for number in range(150)))
    assert (len(found), found[-1]) == (101, ("file", "has 50 more problems"))
