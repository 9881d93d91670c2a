"""A program for each file of tests/data/dsl."""

from __future__ import annotations

from datetime import timedelta

from paddleflow.pipeline import (
    DAG,
    FAIL_CONTINUE,
    PF_RUN_ID,
    PF_STEP_NAME,
    PF_USER_NAME,
    Approval,
    Artifact,
    CacheOptions,
    ContainerStep,
    ExtraFS,
    FailureOptions,
    FSOptions,
    FSScope,
    MainFS,
    Parameter,
    Pipeline,
    Result,
    Retry,
)

BARN = FSOptions(MainFS("barn"))


@Pipeline(name="base", docker_env="shop:1", parallelism=1)
def base(hours: int = 3) -> None:
    buy = ContainerStep(
        name="buy",
        docker_env="market:2",
        parameters={"list": f"./lists/{PF_RUN_ID}"},
        env={"BUYER": f"7_{PF_USER_NAME}"},
        command="bash buy.sh {{list}}",
    )
    cook = ContainerStep(
        name="cook",
        parameters={"hours": hours, "plate": f"./plates/{PF_RUN_ID}", "list": buy.parameters["list"]},
        command="bash cook.sh {{hours}} {{list}} {{plate}}",
    )
    ContainerStep(name="eat", parameters={"plate": cook.parameters["plate"]}, command="bash eat.sh {{plate}}")


@Pipeline(name="artifact", docker_env="shop:1", fs_options=BARN)
def artifact(fineness: int = 405) -> None:
    split = ContainerStep(
        name="split", command="split {{grain}} {{husk}}", outputs={"grain": Artifact(), "husk": Artifact()}
    )
    mill = ContainerStep(
        name="mill",
        command="mill {{fineness}} {{grain}} {{flour}}",
        inputs={"grain": split.outputs["grain"]},
        outputs={"flour": Artifact()},
        parameters={"fineness": fineness},
    )
    ContainerStep(
        name="weigh",
        command="weigh {{flour}} {{rest}}",
        inputs={"flour": mill.outputs["flour"], "rest": split.outputs["husk"]},
    )


@Pipeline(
    name="cache",
    docker_env="shop:1",
    cache_options=CacheOptions(enable=True, max_expired_time=600, fs_scope=[FSScope("barn", "tools")]),
    fs_options=BARN,
)
def cache() -> None:
    first = ContainerStep(
        name="first",
        command="first {{out}}",
        outputs={"out": Artifact()},
        cache_options=CacheOptions(True, [FSScope("barn", "tools/first.sh")], 300),
    )
    ContainerStep(
        name="second",
        command="second {{in}}",
        inputs={"in": first.outputs["out"]},
        env={"LEVEL": "debug"},
        cache_options=CacheOptions(version="2", ignore=["LEVEL"], mode="mtime", share="owner"),
    )


def _weather(name: str, degrees: int, sign: str) -> ContainerStep:
    step = ContainerStep(name=name, parameters={"degrees": degrees})
    step.command = f"echo {step.parameters['degrees']}"
    step.condition = f"{step.parameters['degrees']} {sign} 0"
    return step


@Pipeline(name="condition", docker_env="shop:1")
def condition(degrees: int = 21) -> None:
    _weather("warm", degrees, ">")
    _weather("cold", degrees, "<")
    count = ContainerStep(name="count", command="count", parameters={"n": 3})
    later = ContainerStep(name="later", command=f"echo {count.parameters['n']}")
    later.condition = f"{count.parameters['n']} == 3 && {PF_STEP_NAME} != warm"


def _keep(name: str, command: str, what: str, fruit: Artifact) -> ContainerStep:
    return ContainerStep(name=name, command=command, inputs={what: fruit}, outputs={"result": Artifact()})


@Pipeline(name="dag", docker_env="shop:1", parallelism=2)
def dag(number: int = 10) -> None:
    pick = ContainerStep(
        name="pick", command="pick {{number}}", parameters={"number": number}, outputs={"fruit": Artifact()}
    )
    with DAG(name="sort"):
        halve = ContainerStep(
            name="halve",
            command="halve {{limit}}",
            parameters={"limit": 0},
            inputs={"fruit": pick.outputs["fruit"]},
            outputs={"ripe": Artifact(), "green": Artifact()},
        )
        ripe = _keep("eat-ripe", "eat", "ripe", halve.outputs["ripe"])
        green = _keep("store-green", "store", "green", halve.outputs["green"])
        gather = ContainerStep(
            name="gather",
            command="gather",
            inputs={"ripe": ripe.outputs["result"], "green": green.outputs["result"]},
            outputs={"all": Artifact()},
        )
    ContainerStep(
        name="sum", command="sum {{total}}", inputs={"fruit": gather.outputs["all"]}, outputs={"total": Artifact()}
    )


@Pipeline(name="failure", docker_env="shop:1", parallelism=1, failure_options=FailureOptions(FAIL_CONTINUE))
def failure() -> None:
    steps = {name: ContainerStep(name=name, command=f"echo {name}") for name in ("a1", "a2", "a3", "b1", "b2")}
    steps["a2"].after(steps["a1"])
    steps["a3"].after(steps["a2"])
    steps["b1"].command = "echo b1; exit 1"
    steps["b2"].after(steps["b1"])


@Pipeline(name="loop", docker_env="shop:1", parallelism=5)
def loop(lowest: int = -10, highest: int = 10, number: int = 5) -> None:
    draw = ContainerStep(
        name="draw",
        command="draw {{lowest}} {{highest}} {{number}}",
        parameters={"lowest": lowest, "highest": highest, "number": number},
        outputs={"numbers": Artifact()},
    )
    square = ContainerStep(name="square", loop_argument=draw.outputs["numbers"], outputs={"result": Artifact()})
    square.command = f"square {square.loop_argument.item}"
    ContainerStep(
        name="sum", command="sum", inputs={"numbers": square.outputs["result"]}, outputs={"result": Artifact()}
    )


@Pipeline(name="filesystems", docker_env="shop:1")
def filesystems() -> None:
    ContainerStep(name="main", command="cd shells && bash run.sh", docker_env="box:3", outputs={"out": Artifact()})
    ContainerStep(
        name="own",
        command="cd /own && bash run.sh",
        outputs={"out": Artifact()},
        extra_fs=ExtraFS("barn", sub_path="shells/own", mount_path="/own", read_only=True),
    )


@Pipeline(name="nested", docker_env="shop:1", fs_options=BARN)
def nested() -> None:
    plan = ContainerStep(
        name="plan", command="plan {{days}}", parameters={"days": Parameter(3)}, outputs={"menu": Artifact()}
    )
    with (
        DAG(name="week", loop_argument=plan.outputs["menu"]) as week,
        DAG(name="day", loop_argument=["noon", "night"]) as day,
    ):
        cook = ContainerStep(name="cook", parameters={"time": day.loop_argument.item}, outputs={"dinner": Artifact()})
        cook.command = f"cook {week.loop_argument.item} {{{{time}}}} {plan.parameters['days']} < {plan.outputs['menu']}"
    ContainerStep(name="wash", command="wash {{dinner}}", inputs={"dinner": cook.outputs["dinner"]})


@Pipeline(
    name="additions",
    docker_env="shop:1",
    fs_options=BARN,
    semaphores={"licence": 2},
    on_exit=[ContainerStep(name="tidy", command="tidy")],
    notify=[{"webhook": "https://example.com/hook", "secret": {"file": "/run/secret"}}, {"command": "echo over"}],
)
def additions() -> None:
    count = ContainerStep(
        name="count",
        command="count",
        results={"rows": int, "label": Result(str, default="none")},
        retry=Retry(3, backoff="5s", max_backoff=60, jitter=0.5, not_on=[2]),
        timeout="1h30m",
        pending_timeout=timedelta(minutes=10),
        semaphores="licence",
    )
    agree = ContainerStep(name="agree", approval=Approval("ada", message="enough?", timeout=timedelta(days=1)))
    agree.condition = f"{count.results['rows']} > 10"
    ContainerStep(
        name="train",
        parameters={"epochs": Parameter(default=3, type=int)},
        loop_argument=[1, 2],
        max_parallel=1,
        job={"framework": "paddle", "members": [{"role": "worker", "replicas": 2, "command": "train {{epochs}}"}]},
    ).after(agree)


def programs() -> dict[str, Pipeline]:
    """By the names of the files."""
    made = {
        "base": base(),
        "artifact": artifact(),
        "cache": cache(),
        "condition": condition(),
        "dag": dag(),
        "failure": failure(),
        "loop": loop(),
        "filesystems": filesystems(),
        "nested": nested(),
        "additions": additions(),
    }
    made["dag"].fs_options = made["loop"].fs_options = BARN
    made["failure"].set_post_process(ContainerStep(name="mail", command="echo mail"))
    everywhere = ExtraFS("barn", "shells/all", "/all")
    made["filesystems"].fs_options = FSOptions(MainFS("barn", "here", "/home/main"), [everywhere])
    made["additions"].add_exit_handler(ContainerStep(name="tell", command="tell"), when="failed")
    return made
