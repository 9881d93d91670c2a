"""Where the replicas of a crew are reached: ports for what they listen on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pf_job.frameworks.rules import Place, Replica, Rules
from pf_job.specs.domain import JobSpec, Role


def on_one_machine(
    rules: Rules, replicas: Iterable[Replica], address: str, free: Iterator[int]
) -> dict[Replica, Place]:
    """All at one address, each with ports of its own, taken from those that are free in the order of the replicas."""
    return {
        replica: Place(address, {name: next(free) for name in _customary(rules, replica.role)})
        for replica in sorted(replicas)
    }


def on_their_own(rules: Rules, spec: JobSpec, addresses: Mapping[Replica, str]) -> dict[Replica, Place]:
    """Each at an address of its own: with the ports that are customary, or from the one on that the spec says."""
    return {replica: Place(address, _ports(rules, spec, replica.role)) for replica, address in addresses.items()}


def _ports(rules: Rules, spec: JobSpec, role: Role) -> Mapping[str, int]:
    member, customary = spec.member(role), _customary(rules, role)
    first = member.work.port if member else 0
    return {name: first + at for at, name in enumerate(customary)} if first else customary


def _customary(rules: Rules, role: Role) -> Mapping[str, int]:
    rule = rules.role(role)
    return rule.ports if rule else {}
