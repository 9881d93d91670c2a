"""What becomes of a document and a request: a plan in which all is settled that can be."""

from __future__ import annotations

from datetime import timedelta

import pytest

from paddleflow.problems import DocumentInvalid
from pf_pipeline.documents.model import CacheMode, CacheShare, HandlerWhen, Mount, ParameterKind, Scope, Strategy
from pf_pipeline.documents.reading import read
from pf_pipeline.plans.domain import Kind, Plan, PlannedDag, PlannedStep
from pf_pipeline.plans.planning import plan
from pf_pipeline.plans.requests import Request


def planned(text: str, **asked: object) -> Plan:
    return plan(read(text), Request(**asked))  # type: ignore[arg-type]


def step(made: Plan, name: str) -> PlannedStep:
    node = made.entry_points[name]
    assert isinstance(node, PlannedStep)
    return node


def dag(made: Plan, name: str) -> PlannedDag:
    node = made.entry_points[name]
    assert isinstance(node, PlannedDag)
    return node


BOIL = """
name: kitchen
docker_env: pot:1
parallelism: 3
env: {WATER: cold, SALT: "no"}
cache: {enable: true, max_expired_time: 60, fs_scope: [{name: pantry, path: /recipes}]}
failure_options: {strategy: continue}
fs_options:
  main_fs: {name: pantry, sub_path: shelf}
  extra_fs: [{name: cellar, mount_path: /cellar, read_only: true}]
entry_points:
  wash:
    command: "wash {{what}}"
    parameters: {what: rice, times: {type: int, default: 2}}
    env: {SALT: "yes"}
  boil:
    command: boil
    deps: " wash ,"
    docker_env: pot:2
    parameters: {what: "{{wash.what}}"}
    cache: {enable: false, fs_scope: [{name: cellar, path: /wine}]}
    extra_fs: [{name: attic}]
post_process:
  tidy: {command: tidy}
on_exit:
  sing: {command: sing, when: succeeded}
"""


def test_what_a_document_says_for_all_is_handed_down() -> None:
    made = planned(BOIL)
    assert (made.name, made.parallelism, made.strategy) == ("kitchen", 3, Strategy.CONTINUE)
    assert made.main_fs == Mount("pantry", sub_path="shelf")
    wash, boil = step(made, "wash"), step(made, "boil")
    assert (wash.docker_env, boil.docker_env) == ("pot:1", "pot:2")
    assert wash.env == {"WATER": "cold", "SALT": "yes"}
    assert wash.extra_fs == (Mount("cellar", "/cellar", read_only=True),)
    assert boil.extra_fs == (Mount("attic"), Mount("cellar", "/cellar", read_only=True))
    assert boil.deps == ("wash",)
    assert wash.parameters == {"what": "rice", "times": 2}
    assert wash.kinds == {"times": ParameterKind.INT}


def test_caches_are_inherited_field_by_field() -> None:
    made = planned(BOIL)
    wash, boil = step(made, "wash").cache, step(made, "boil").cache
    assert (wash.enable, wash.max_expired_time, wash.fs_scope) == (True, 60, (Scope("pantry", "/recipes"),))
    assert (boil.enable, boil.max_expired_time) == (False, 60)
    assert boil.fs_scope == (Scope("cellar", "/wine"), Scope("pantry", "/recipes"))
    assert (wash.mode, wash.share, wash.version) == (CacheMode.CONTENT, CacheShare.SOURCE, "")


def test_what_comes_last_gets_no_cache() -> None:
    made = planned(BOIL)
    assert made.post_process is not None
    assert (made.post_process.kind, made.post_process.cache.enable) == (Kind.POST_PROCESS, False)
    assert made.post_process.docker_env == "pot:1"
    (sing,) = made.on_exit
    assert (sing.kind, sing.when) == (Kind.EXIT_HANDLER, HandlerWhen.SUCCEEDED)


def test_a_request_goes_before_the_document() -> None:
    asked = Request(docker_env="pan:3", strategy=Strategy.FAIL_FAST, disabled=("boil",), parameters={"what": "peas"})
    made = plan(read(BOIL), asked)
    assert made.strategy is Strategy.FAIL_FAST
    assert (step(made, "wash").docker_env, step(made, "boil").docker_env) == ("pan:3", "pot:2")
    assert step(made, "boil").disabled
    assert not step(made, "wash").disabled
    assert step(made, "wash").parameters["what"] == "peas"
    assert step(made, "boil").parameters["what"] == "peas"


NESTED = """
name: nested
entry_points:
  outer:
    parameters: {size: 1}
    entry_points:
      inner: {command: x, parameters: {size: 2, name: a}}
  alone: {command: x, parameters: {size: 3}}
"""


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        pytest.param({"size": 9}, (9, 9, 9), id="everywhere"),
        pytest.param({"outer.inner.size": 9}, (1, 9, 3), id="by path"),
        pytest.param({"outer.size": 9}, (9, 2, 3), id="of a DAG"),
        pytest.param({"outer": {"inner": {"size": 9}}}, (1, 9, 3), id="nested"),
        pytest.param({"size": 8, "alone": {"size": 9}}, (8, 8, 9), id="the more exact wins"),
    ],
)
def test_parameters_of_a_request_find_their_components(given: dict[str, object], sizes: tuple[int, ...]) -> None:
    made = planned(NESTED, parameters=given)
    outer = dag(made, "outer")
    nodes = (outer, outer.children["inner"], step(made, "alone"))
    assert tuple(node.parameters["size"] for node in nodes) == sizes


@pytest.mark.parametrize(
    ("said", "given", "value"),
    [
        ("x", 2.0, 2),
        ("x", [1.0, 2.5], (1, 2.5)),
        ("x", "7", "7"),
        ("{type: int, default: 1}", "12", 12),
        ("{type: float, default: 1}", "12", 12),
        ("{type: float, default: 1}", "1e-3", 0.001),
        ("{type: list, default: [1]}", "[2, a]", None),
        ("{type: list, default: [1]}", '[2, "a"]', (2, "a")),
        ("{type: string, default: a}", 5, "5"),
        ("{type: path, default: a}", "/b/{{PF_RUN_ID}}", "/b/{{PF_RUN_ID}}"),
        ("{type: int, default: 1}", "many", None),
        ("{type: path, default: a}", "b c", None),
    ],
)
def test_values_of_a_request_become_what_they_must_be(said: str, given: object, value: object) -> None:
    text = f"{{name: t, entry_points: {{a: {{command: x, parameters: {{p: {said}}}}}}}}}"
    asked = {"p": tuple(given) if isinstance(given, list) else given}
    if value is None:
        with pytest.raises(DocumentInvalid, match="parameter p of the request must be"):
            planned(text, parameters=asked)
    else:
        assert step(planned(text, parameters=asked), "a").parameters["p"] == value


def test_numbers_among_variables_stay_as_they_are_written() -> None:
    made = planned("{name: t, entry_points: {a: {command: x, env: {A: 1.0, B: 60, C: 0.10, D: true, E: ~}}}}")
    assert step(made, "a").env == {"A": "1.0", "B": "60", "C": "0.10", "D": "true", "E": ""}


def test_references_become_copies() -> None:
    made = planned("""
name: copies
fs_options: {main_fs: {name: disk}}
components:
  cook:
    command: "cook {{what}} {{hot}}"
    parameters: {what: rice, hot: {type: float, default: 0.5}, long: 1}
    artifacts: {input: {raw: ""}, output: [meal]}
  fry:
    reference: {component: cook}
    parameters: {hot: 0.9, long: 2}
    artifacts: {input: {raw: ""}}
entry_points:
  buy: {command: buy, artifacts: {output: [food]}}
  dinner:
    reference: {component: fry}
    deps: buy
    parameters: {long: 3}
    artifacts: {input: {raw: "{{buy.food}}"}}
""")
    dinner = step(made, "dinner")
    assert (dinner.name, dinner.reference, dinner.deps) == ("dinner", "fry", ("buy",))
    assert dinner.parameters == {"what": "rice", "hot": 0.9, "long": 3}
    assert dinner.kinds == {"hot": ParameterKind.FLOAT}
    assert (dinner.inputs, dinner.outputs) == ({"raw": "{{buy.food}}"}, ("meal",))


def test_all_keys_of_our_own_are_read() -> None:
    made = planned("""
name: own
fsName: disk
semaphores: {gpu: 2}
notify: [{webhook: "https://here", secret: {file: /key}}, {command: beep}]
entry_points:
  a:
    command: x
    retry: {limit: 3, backoff: 5s, max_backoff: 1m, jitter: 0.5, not_on: [2, 3]}
    timeout: 1h30m
    pending_timeout: 90
    semaphores: gpu
    results: {score: float, names: {type: list, default: []}}
    job: {framework: paddle, members: [{role: worker, replicas: 2}]}
    max_parallel: 4
  ask: {approval: {users: "ann,bob", message: sure?, timeout: 1d}, deps: a}
""")
    a, ask = step(made, "a"), step(made, "ask")
    assert a.retry is not None
    assert (a.retry.limit, a.retry.jitter, a.retry.not_on) == (3, 0.5, (2, 3))
    assert (a.retry.backoff, a.retry.max_backoff) == (timedelta(seconds=5), timedelta(minutes=1))
    assert (a.timeout, a.pending_timeout) == (timedelta(minutes=90), timedelta(seconds=90))
    assert (a.semaphores, a.max_parallel, made.semaphores) == (("gpu",), 4, {"gpu": 2})
    assert a.results["names"].default == ()
    assert a.job == {"framework": "paddle", "members": [{"role": "worker", "replicas": 2}]}
    assert ask.approval is not None
    assert (ask.approval.users, ask.approval.timeout) == (("ann", "bob"), timedelta(days=1))
    assert made.notify == ({"webhook": "https://here", "secret": {"file": "/key"}}, {"command": "beep"})


def test_json_has_the_same_keys_in_camel_case() -> None:
    made = planned("""{
  "name": "camel", "dockerEnv": "img", "fsName": "disk", "queue": "q", "jobType": "single", "env": {"A": "1"},
  "failureOptions": {"strategy": "continue"},
  "fsOptions": {"mainFS": {"name": "disk", "mountPath": "/m"}, "extraFS": [{"name": "e", "subPath": "s"}]},
  "cache": {"enable": true, "maxExpiredTime": 9, "fsScope": [{"name": "disk", "path": "p"}]},
  "entryPoints": {"d": {"type": "dag", "loopArgument": [1, 2], "entryPoints": {"s": {"type": "step", "command": "x",
    "extraFS": [{"name": "f", "mountPath": "/f", "readOnly": true}]}}}},
  "postProcess": {"last": {"command": "y"}}
}""")
    (inner,) = dag(made, "d").children.values()
    assert isinstance(inner, PlannedStep)
    assert inner.env == {"PF_JOB_QUEUE_NAME": "q", "PF_JOB_TYPE": "single", "A": "1"}
    assert inner.extra_fs == (Mount("f", "/f", read_only=True), Mount("e", sub_path="s"))
    assert (inner.cache.max_expired_time, dag(made, "d").loop) == (9, (1, 2))
    assert made.main_fs == Mount("disk", "/m")
    assert made.post_process is not None
    assert made.post_process.command == "y"


def test_an_empty_loop_is_a_loop() -> None:
    made = planned("{name: t, entry_points: {a: {command: x, loop_argument: []}, b: {command: x, loop_argument: }}}")
    assert (step(made, "a").loop, step(made, "b").loop) == ((), None)


def test_a_step_may_be_placed_by_keys_of_its_own() -> None:
    made = planned("""
name: placed
queue: far
entry_points:
  a: {command: x, queue: near, flavour: large, jobType: single, env: {PF_JOB_FLAVOUR: small}}
  b: {distributed_jobs: {framework: paddle, members: [{role: worker, replicas: 2, flavour: {name: large}}]}}
""")
    assert step(made, "a").env == {"PF_JOB_QUEUE_NAME": "near", "PF_JOB_FLAVOUR": "small", "PF_JOB_TYPE": "single"}
    assert step(made, "b").env == {"PF_JOB_QUEUE_NAME": "far"}
    assert step(made, "b").job["framework"] == "paddle"
