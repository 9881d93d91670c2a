"""What the watch told of the demo's jobs, in figures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from paddleflow.models import (
    Admitted,
    Evicting,
    Released,
    ReleaseOutcome,
    Requeued,
    Workload,
    WorkloadFact,
)


@dataclass
class Ledger:
    """Counts by team, which is the queue of a job."""

    held: dict[str, Admitted] = field(default_factory=dict)
    """What each job holds, by its id."""
    admitted: Counter[str] = field(default_factory=Counter)
    """How often workloads began to hold something."""
    finished: Counter[str] = field(default_factory=Counter)
    evicted: Counter[str] = field(default_factory=Counter)
    """How often workloads were told to give back all they hold."""
    waits: dict[str, list[float]] = field(default_factory=dict)
    """Seconds until an admission, each time a workload waited."""
    unexpected: Counter[str] = field(default_factory=Counter)
    """What must not happen, in words."""
    _since: dict[str, float] = field(default_factory=dict)
    """When a job began to wait."""

    def note(self, fact: WorkloadFact, now: float) -> None:
        """Takes down what happened."""
        match fact:
            case Workload(admitted=None):
                self._since[fact.key.job_id] = now
            case Workload(admitted=Admitted() as holding) | (Admitted() as holding):
                self._hold(holding, now)
            case Evicting() if is_all(fact):
                self.evicted[fact.queue] += 1
            case Released(outcome=ReleaseOutcome.UNSPECIFIED):
                self._shrink(fact)
            case Released():
                self._release(fact)
            case Requeued():
                self._since[fact.key.job_id] = now
            case Evicting():
                pass

    def surplus(self, queue: str) -> int:
        """Replicas above the minimum that workloads of a queue hold now."""
        return sum(_surplus(each) for each in self.held.values() if each.queue == queue)

    def _hold(self, holding: Admitted, now: float) -> None:
        job, queue = holding.key.job_id, holding.queue
        before = self.held.get(job)
        if before is None:
            self.admitted[queue] += 1
            self.waits.setdefault(queue, []).append(now - self._since.pop(job, now))
        elif before.grant_id != holding.grant_id:
            self.unexpected[f"{job} was admitted while it held something"] += 1
        self.held[job] = holding

    def _shrink(self, released: Released) -> None:
        holding = self.held[released.key.job_id]
        gone = {role.role: role.surplus for role in released.replicas}
        roles = [replace(role, surplus=role.surplus - gone.get(role.role, 0)) for role in holding.roles]
        self.held[released.key.job_id] = replace(holding, roles=roles)

    def _release(self, released: Released) -> None:
        if self.held.pop(released.key.job_id, None) is None:
            self.unexpected[f"{released.key} was released, but held nothing"] += 1
        self.finished[released.queue] += released.outcome is ReleaseOutcome.FINISHED


def is_all(evicting: Evicting) -> bool:
    """True if the workload is to give back all that it holds, not only surplus."""
    return any(role.base for role in evicting.replicas)


def _surplus(holding: Admitted) -> int:
    return sum(role.surplus for role in holding.roles)
