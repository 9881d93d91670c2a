"""What every framework says of itself: its roles, what it tells each replica, and what the end of one means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from paddleflow.problems import Violation
from pf_job.specs.commands import argv
from pf_job.specs.domain import GPU, Framework, JobSpec, Member, Mode, RestartPolicy, Role
from pf_job.specs.magic import restart_policy

MOST_RESTARTS = 3
"""How often one replica is started again within an attempt. Paddle's launcher has the same number."""


@dataclass(frozen=True, slots=True, order=True)
class Replica:
    """One of a crew."""

    role: Role
    index: int
    """Among those of its role, from 0."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a replica is reached."""

    address: str
    ports: Mapping[str, int] = field(default_factory=dict)
    """By the names that its role has for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """All replicas of an attempt, as they are at one time."""

    job_id: str
    attempt: int
    owner: str
    spec: JobSpec
    """Filled."""
    places: Mapping[Replica, Place]
    folder: str = ""
    """Where the files of a replica appear to it; the same for all. Empty: it is handed none, and hears of none."""

    def of(self, role: Role) -> list[Replica]:
        """Those of a role, by number."""
        return sorted(replica for replica in self.places if replica.role is role)

    def address(self, replica: Replica) -> str:
        return self.places[replica].address

    def port(self, replica: Replica, name: str) -> int:
        return self.places[replica].ports[name]

    def endpoint(self, replica: Replica, name: str) -> str:
        address = self.address(replica)
        return f"[{address}]:{self.port(replica, name)}" if ":" in address else f"{address}:{self.port(replica, name)}"

    def endpoints(self, role: Role, name: str) -> list[str]:
        return [self.endpoint(replica, name) for replica in self.of(role)]

    def member(self, role: Role) -> Member:
        """What is said of a role that is in the crew."""
        return next(member for member in self.spec.crew if member.role is role)

    def env(self, replica: Replica) -> Mapping[str, str]:
        """What the replica's user gives it."""
        return self.member(replica.role).work.env


@dataclass(frozen=True, slots=True)
class File:
    """A file that a replica finds in the folder of its crew."""

    name: str
    text: str
    executable: bool = False


class Reach(StrEnum):
    """How a change of the number of replicas reaches those that run."""

    JOIN = "join"
    """By itself: newcomers find the others, and these notice who is gone."""
    FILES = "files"
    """Their files are written anew."""
    RESTART = "restart"
    """They are started again, and go on from their last checkpoint."""


class Reaction(StrEnum):
    """What is to be done about a replica that failed or was lost."""

    CARRY_ON = "carry-on"
    RESTART = "restart"
    """It is started again."""
    RESTART_ALL = "restart-all"
    """It is started again, and with it all others."""
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleRule:
    """What there is to say of a role."""

    role: Role
    most: int | None = None
    """Replicas of it; None is any number."""
    stage: int = 0
    """When all of a stage run, those of the next are started."""
    ports: Mapping[str, int] = field(default_factory=dict)
    """What a replica listens on: a name, and the number it has where every replica has an address of its own."""
    elastic: bool = False
    """True if replicas may come and go while the job runs."""
    vital: bool = True
    """False if the others can do without a replica of it."""
    self_starting: bool = False
    """True if the framework knows what to run where no command is given."""


def no_variables(_crew: Crew, _replica: Replica) -> dict[str, str]:
    return {}


def no_files(_crew: Crew, _replica: Replica) -> tuple[File, ...]:
    return ()


def own_program(crew: Crew, replica: Replica) -> tuple[str, ...]:
    """What is said in the spec; nothing, if the image is to say it."""
    return argv(crew.member(replica.role).work)


def no_mode(_spec: JobSpec) -> Mode | None:
    return None


def nothing_wrong(_spec: JobSpec) -> Iterator[Violation]:
    return iter(())


def found_by_themselves(_spec: JobSpec) -> Reach:
    return Reach.JOIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a framework says of itself."""

    framework: Framework
    roles: tuple[RoleRule, ...]
    decisive: tuple[frozenset[Role], ...]
    """The job is done when all replicas of these roles ended well; of several groups, of the first that it has.
    Others that still run are stopped then."""
    environment: Callable[[Crew, Replica], dict[str, str]] = no_variables
    files: Callable[[Crew, Replica], tuple[File, ...]] = no_files
    program: Callable[[Crew, Replica], tuple[str, ...]] = own_program
    """The arguments a replica is started with."""
    mode: Callable[[JobSpec], Mode | None] = no_mode
    check: Callable[[JobSpec], Iterator[Violation]] = nothing_wrong
    """What is wrong with roles that are there and no more than they may be."""
    reach: Callable[[JobSpec], Reach] = found_by_themselves
    asks_restart: frozenset[int] = frozenset()
    """Exit statuses by which a program asks to be started again."""
    hosts: bool = False
    """True if it counts hosts by their addresses, so that on one machine each replica needs one of its own."""

    def role(self, role: Role) -> RoleRule | None:
        return next((rule for rule in self.roles if rule.role is role), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A replica that failed, or that nobody knows anything of any more."""

    role: Role
    status: int | None = None
    """Its exit status, if it had one."""
    restarts: int = 0
    """How often it was started again before."""
    left: int = 0
    """How many others of its role run or ended well."""


def reaction(rules: Rules, spec: JobSpec, loss: Loss) -> Reaction:
    """What is to be done about a loss."""
    member, rule = spec.member(loss.role), rules.role(loss.role)
    if member is None or rule is None:
        return Reaction.FAIL
    spared = not rule.vital or (member.elastic and loss.left >= member.replicas)
    again = spared or loss.status in rules.asks_restart or restart_policy(member.work) is not RestartPolicy.NEVER
    if again and loss.restarts < MOST_RESTARTS:
        together = member.elastic and rules.reach(spec) is Reach.RESTART
        return Reaction.RESTART_ALL if together else Reaction.RESTART
    return Reaction.CARRY_ON if spared else Reaction.FAIL


def decisive(rules: Rules, roles: Iterable[Role]) -> frozenset[Role]:
    """The roles whose replicas must end well for the job to be done."""
    there = frozenset(roles)
    return next((group & there for group in rules.decisive if group & there), there)


def done(rules: Rules, succeeded: Mapping[Replica, bool]) -> bool:
    """True if the job is done, given of each replica whether it ended well."""
    roles = decisive(rules, (replica.role for replica in succeeded))
    return bool(succeeded) and all(well for replica, well in succeeded.items() if replica.role in roles)


def stages(rules: Rules, spec: JobSpec) -> list[list[Role]]:
    """The roles of a job in the order in which they are started."""
    there = {member.role for member in spec.crew}
    numbers = sorted({rule.stage for rule in rules.roles if rule.role in there})
    return [[rule.role for rule in rules.roles if rule.stage == number and rule.role in there] for number in numbers]


def gpus(member: Member) -> int:
    """How many accelerators a replica has for itself."""
    return member.work.flavour.amounts.get(GPU, 0)


def count(spec: JobSpec, role: Role) -> int:
    """How many of a role there can be."""
    member = spec.member(role)
    return member.most if member else 0


def place_of(spec: JobSpec, role: Role, field_name: str) -> str:
    """The path in the document of a field of a role's member, or of all members if there is none."""
    at = next((at for at, member in enumerate(spec.members) if member.role is role), None)
    return "members" if at is None else f"members[{at}].{field_name}"
