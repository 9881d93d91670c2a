"""MPI: a launcher (the master) that starts the program on the workers, which it finds in files.

The files list the workers that run now, those of one address together; without a folder for them `mpirun` takes the
machine it is on. `discover_hosts.sh` is what Horovod asks for
them again and again, so that an elastic job notices a change.
"""

from __future__ import annotations

from pf_job.frameworks.modes import centre_and_workers_wrong
from pf_job.frameworks.rules import Crew, File, Reach, Replica, RoleRule, Rules, gpus, own_program
from pf_job.specs.domain import Framework, JobSpec, Role

OPEN_MPI_HOSTS = "hostfile"
HYDRA_HOSTS = "hosts"
DISCOVERY = "discover_hosts.sh"
SSH = "-o ConnectionAttempts=10"
WAIT = ("sleep", "infinity")
"""What a worker does that is given nothing to do: its launcher works there, and the job's end is its own."""


def environment(crew: Crew, replica: Replica) -> dict[str, str]:
    slots = str(_slots(crew))
    told = {
        "K_MPI_JOB_ROLE": "launcher" if replica.role is Role.MASTER else "worker",
        "MPI_HOST": ",".join(crew.address(worker) for worker in crew.of(Role.WORKER)),
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "OMPI_MCA_orte_set_default_slots": slots,
        "OMPI_MCA_plm_rsh_args": SSH,
        "I_MPI_PERHOST": slots,
        "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": SSH,
        "HYDRA_LAUNCH_EXTRA_ARGS": SSH,
    }
    if crew.folder:
        told |= {
            "OMPI_MCA_orte_default_hostfile": f"{crew.folder}/{OPEN_MPI_HOSTS}",
            "I_MPI_HYDRA_HOST_FILE": f"{crew.folder}/{HYDRA_HOSTS}",
            "HYDRA_HOST_FILE": f"{crew.folder}/{HYDRA_HOSTS}",
        }
    # The launcher only starts others: it is not to hold an accelerator that they need.
    return told | ({"NVIDIA_VISIBLE_DEVICES": ""} if replica.role is Role.MASTER else {})


def files(crew: Crew, _replica: Replica) -> tuple[File, ...]:
    if not crew.folder:
        return ()
    hosts = _hosts(crew)
    open_mpi = "".join(f"{host} slots={slots}\n" for host, slots in hosts.items())
    hydra = "".join(f"{host}:{slots}\n" for host, slots in hosts.items())
    asked = "#!/bin/sh\n" + "".join(f"echo {host}:{slots}\n" for host, slots in hosts.items())
    return File(OPEN_MPI_HOSTS, open_mpi), File(HYDRA_HOSTS, hydra), File(DISCOVERY, asked, executable=True)


def program(crew: Crew, replica: Replica) -> tuple[str, ...]:
    return own_program(crew, replica) or (WAIT if replica.role is Role.WORKER else ())


def reach(_spec: JobSpec) -> Reach:
    return Reach.FILES


def _hosts(crew: Crew) -> dict[str, int]:
    """How many processes find room, by address."""
    hosts: dict[str, int] = {}
    for worker in crew.of(Role.WORKER):
        address = crew.address(worker)
        hosts[address] = hosts.get(address, 0) + _slots(crew)
    return hosts


def _slots(crew: Crew) -> int:
    """Processes of one worker: one for each accelerator, or one."""
    return max(1, gpus(crew.member(Role.WORKER)))


RULES = Rules(
    framework=Framework.MPI,
    roles=(
        RoleRule(role=Role.WORKER, stage=0, elastic=True, self_starting=True),
        RoleRule(role=Role.MASTER, most=1, stage=1),
    ),
    decisive=(frozenset({Role.MASTER}),),
    environment=environment,
    files=files,
    program=program,
    check=centre_and_workers_wrong,
    reach=reach,
)
