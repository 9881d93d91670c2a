"""A Slurm of its own: one machine with more processors than jobs, over the loopback, with all its files in a folder."""

from __future__ import annotations

import os
import platform
import re
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from support.servers import short_folder

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo")
PATIENCE = 120.0
LOOK = 0.1
"""Seconds between two looks whether jobs are over: `squeue` is a process each time."""
AT_ONCE = "4"
"""Submissions at once."""
ACCEPTED = re.compile(r"\[(\S+)\] _slurm_rpc_submit_batch_job: JobId=(\d+) .*usec=(\d+)")

CONFIGURATION = """
ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
LogTimeFormat=iso8601_ms
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
MaxJobCount=20000
MaxArraySize=20000
NodeName=bench NodeHostname={host} NodeAddr=127.0.0.1 CPUs=4096 RealMemory=100000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES State=UP
"""


def obstacle() -> str:
    """Why there can be no Slurm here; empty if there can."""
    if os.geteuid() != 0:
        return "it wants root"
    if any(map(_is_missing, PROGRAMS)) and shutil.which("apt-get"):
        command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", "slurm-wlm"]
        subprocess.run(command, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, capture_output=True)
    missing = " ".join(filter(_is_missing, PROGRAMS))
    return f"missing here: {missing}; install slurm-wlm" if missing else ""


class Slurm:
    """Calls its programs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    @property
    def _output(self) -> Path:
        """Where jobs write."""
        return self._folder / "output"

    def wait_to_run(self) -> float:
        """Milliseconds that a job waits on an idle machine from its acceptance until it runs.

        Its output is made just before it does.
        """
        job = self._run("sbatch", "--parsable", "--wrap", "true").strip()
        self.until_over()
        return self._output.joinpath(f"slurm-{job}.out").stat().st_mtime * 1000 - self._accepted(job)

    def submit(self, count: int) -> None:
        """Jobs that do nothing, one by one."""
        command = ["xargs", "-P", AT_ONCE, "-I{}", "sbatch", "-Q", "--wrap", "true"]
        self._run(*command, told="\n".join(map(str, range(count))))

    def submit_array(self, count: int) -> None:
        """Jobs that do nothing, with one request for all."""
        self._run("sbatch", "-Q", f"--array=1-{count}", "--wrap", "true")

    def until_over(self) -> None:
        _until(lambda: not self._run("squeue", "-h"))

    def until_ready(self) -> None:
        _until(lambda: self._run("sinfo", "-h", "-o", "%t").strip() == "idle")

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        with (self._folder / f"{command[0]}.out").open("ab") as told:
            return subprocess.Popen(command, cwd=self._folder, env=self._environment, stdout=told, stderr=told)

    def _run(self, *command: str, told: str = "") -> str:
        done = subprocess.run(
            command, cwd=self._output, env=self._environment, input=told, capture_output=True, text=True
        )
        return done.stdout

    def _accepted(self, job: str) -> float:
        """When a job was accepted, in milliseconds of the epoch."""
        found = ACCEPTED.findall((self._folder / "slurmctld.log").read_text())
        time, spent = next((time, spent) for time, number, spent in found if number == job)
        return datetime.fromisoformat(time).timestamp() * 1000 - int(spent) / 1000


@contextmanager
def running(parameters: str) -> Iterator[Slurm]:
    """With these `SchedulerParameters`; empty: with those it has by itself."""
    folder = short_folder()
    _lay_out(folder, parameters)
    slurm = Slurm(folder)
    munge = [f"--{option}={folder}/munge.{option.partition('-')[0]}" for option in ("key-file", "socket", "pid-file")]
    more = [f"--{option}={folder}/munge.{option.partition('-')[0]}" for option in ("seed-file", "log-file")]
    processes: list[subprocess.Popen[bytes]] = []
    try:
        processes.append(slurm.start("munged", "--foreground", "--force", *munge, *more))
        _until((folder / "munge.socket").exists)
        processes.append(slurm.start("slurmctld", "-D"))
        processes.append(slurm.start("slurmd", "-D", "-N", "bench"))
        slurm.until_ready()
        yield slurm
    finally:
        _end(processes)
        shutil.rmtree(folder)


def _lay_out(folder: Path, parameters: str) -> None:
    for name in ("state", "spool", "output"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    text = CONFIGURATION.format(folder=folder, host=platform.node(), ports=_free_ports(2))
    more = f"SchedulerParameters={parameters}\n" if parameters else ""
    (folder / "slurm.conf").write_text(text + more)


def _free_ports(count: int) -> Sequence[int]:
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in reversed(processes):
        process.terminate()
        process.wait(20)


def _until(come: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not come():
        assert time.monotonic() < deadline, "Slurm does not get further"
        time.sleep(LOOK)


def _is_missing(program: str) -> bool:
    return shutil.which(program) is None
