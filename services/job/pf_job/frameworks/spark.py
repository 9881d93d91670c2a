"""Spark: a driver, and executors that join it.

Where no commands are given, the driver runs Spark's own master beside what it submits (`PF_JOB_SPARK_MAIN_FILE`,
`PF_JOB_SPARK_MAIN_CLASS`, `PF_JOB_SPARK_ARGUMENTS`), and every executor is a worker of it. Without executors all runs
in the driver. What is submitted here is given its settings; for commands of the user's own they also stand in
`spark-defaults.conf`, which `SPARK_CONF_DIR` leads to.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from paddleflow.problems import Violation
from pf_job.frameworks.rules import Crew, File, Replica, RoleRule, Rules, own_program
from pf_job.specs.domain import CPU, MEMORY, Framework, JobSpec, Member, Mode, Role

MAIN_FILE = "PF_JOB_SPARK_MAIN_FILE"
MAIN_CLASS = "PF_JOB_SPARK_MAIN_CLASS"
ARGUMENTS = "PF_JOB_SPARK_ARGUMENTS"
DRIVER, BLOCKS, MASTER = "driver", "blocks", "master"
DEFAULTS = "spark-defaults.conf"
WORK = "/tmp"  # noqa: S108 - that of the replica
"""Where Spark's own worker keeps files. By itself it takes the folder of Spark, where it may not be let write."""

_CORE = 1000
_MEBIBYTE = 2**20
_OVERHEAD = 384
"""Mebibytes that Spark wants beside the heap, at the least; else a tenth."""


def environment(crew: Crew, replica: Replica) -> dict[str, str]:
    driver = crew.of(Role.DRIVER)[0]
    told = {
        "SPARK_APPLICATION_ID": f"spark-{crew.job_id}-{crew.attempt}",
        "SPARK_USER": crew.owner,
        "SPARK_DRIVER_BIND_ADDRESS": crew.address(driver),
        "SPARK_DRIVER_URL": f"spark://CoarseGrainedScheduler@{crew.endpoint(driver, DRIVER)}",
    }
    if crew.folder:
        told |= {"SPARK_CONF_DIR": crew.folder}
    if replica.role is Role.DRIVER:
        return told
    executor = crew.member(Role.EXECUTOR)
    return told | {
        "SPARK_EXECUTOR_ID": str(replica.index + 1),
        "SPARK_EXECUTOR_CORES": str(_cores(executor)),
        "SPARK_EXECUTOR_MEMORY": f"{_heap(executor)}m",
        "SPARK_EXECUTOR_POD_IP": crew.address(replica),
        "SPARK_WORKER_DIR": WORK,
    }


def files(crew: Crew, _replica: Replica) -> tuple[File, ...]:
    if not crew.folder:
        return ()
    return (File(DEFAULTS, "".join(f"{name} {value}\n" for name, value in _settings(crew).items())),)


def program(crew: Crew, replica: Replica) -> tuple[str, ...]:
    if said := own_program(crew, replica):
        return said
    return _driver(crew, replica) if replica.role is Role.DRIVER else _executor(crew, replica)


def mode(_spec: JobSpec) -> Mode:
    return Mode.PS


def wrong(spec: JobSpec) -> Iterator[Violation]:
    driver = spec.member(Role.DRIVER)
    if not driver:
        yield Violation("members", "there must be a driver")


def _driver(crew: Crew, driver: Replica) -> tuple[str, ...]:
    submit = _submit(crew, driver)
    if not submit or not crew.of(Role.EXECUTOR):
        return submit
    master = [
        *("spark-class", "org.apache.spark.deploy.master.Master", "--host", crew.address(driver)),
        *("--port", str(crew.port(driver, MASTER)), "--webui-port", "0"),
    ]
    # The master ends with all that a replica started.
    return ("sh", "-c", f'{shlex.join(master)} & exec "$@"', "sh", *submit)


def _submit(crew: Crew, driver: Replica) -> tuple[str, ...]:
    """Nothing, if it is not said what to run."""
    env = crew.env(driver)
    if not env.get(MAIN_FILE):
        return ()
    settings = [word for name, value in _settings(crew).items() for word in ("--conf", f"{name}={value}")]
    main_class = ("--class", env[MAIN_CLASS]) if env.get(MAIN_CLASS) else ()
    arguments = (env[ARGUMENTS],) if env.get(ARGUMENTS) else ()
    return ("spark-submit", *settings, *main_class, env[MAIN_FILE], *arguments)


def _executor(crew: Crew, replica: Replica) -> tuple[str, ...]:
    executor, driver = crew.member(Role.EXECUTOR), crew.of(Role.DRIVER)[0]
    room = ("--cores", str(_cores(executor)), "--memory", f"{_heap(executor)}m", "--host", crew.address(replica))
    return ("spark-class", "org.apache.spark.deploy.worker.Worker", *room, f"spark://{crew.endpoint(driver, MASTER)}")


def _settings(crew: Crew) -> dict[str, str]:
    return _driver_settings(crew) | _executor_settings(crew)


def _driver_settings(crew: Crew) -> dict[str, str]:
    driver = crew.of(Role.DRIVER)[0]
    alone = f"local[{_cores(crew.member(Role.DRIVER))}]"
    return {
        "spark.app.name": crew.spec.name or crew.job_id,
        "spark.master": f"spark://{crew.endpoint(driver, MASTER)}" if crew.of(Role.EXECUTOR) else alone,
        "spark.driver.host": crew.address(driver),
        "spark.driver.bindAddress": crew.address(driver),
        "spark.driver.port": str(crew.port(driver, DRIVER)),
        "spark.driver.blockManager.port": str(crew.port(driver, BLOCKS)),
        "spark.driver.memory": f"{_heap(crew.member(Role.DRIVER))}m",
    }


def _executor_settings(crew: Crew) -> dict[str, str]:
    if not crew.of(Role.EXECUTOR):
        return {}
    executor = crew.member(Role.EXECUTOR)
    told = {
        "spark.executor.instances": str(len(crew.of(Role.EXECUTOR))),
        "spark.executor.cores": str(_cores(executor)),
        "spark.executor.memory": f"{_heap(executor)}m",
    }
    if not executor.elastic:
        return told
    return told | {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.initialExecutors": str(len(crew.of(Role.EXECUTOR))),
        "spark.dynamicAllocation.minExecutors": str(executor.replicas),
        "spark.dynamicAllocation.maxExecutors": str(executor.most),
    }


def _cores(member: Member) -> int:
    return max(1, member.work.flavour.amounts.get(CPU, 0) // _CORE)


def _heap(member: Member) -> int:
    """Mebibytes of the heap: what it takes, without what Spark wants beside it; half of it, if it is that little."""
    whole = member.work.flavour.amounts.get(MEMORY, 0) // _MEBIBYTE
    return max(whole - max(_OVERHEAD, whole // 10), whole // 2, 1)


RULES = Rules(
    framework=Framework.SPARK,
    roles=(
        RoleRule(
            role=Role.DRIVER, most=1, stage=0, ports={DRIVER: 7078, BLOCKS: 7079, MASTER: 7077}, self_starting=True
        ),
        RoleRule(role=Role.EXECUTOR, stage=1, elastic=True, vital=False, self_starting=True),
    ),
    decisive=(frozenset({Role.DRIVER}),),
    environment=environment,
    files=files,
    program=program,
    mode=mode,
    check=wrong,
)
