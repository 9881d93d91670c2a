"""How many wrong passwords a name may have."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from paddleflow.problems import TooManyAttempts


@dataclass(frozen=True, slots=True)
class Rule:
    """So many wrong passwords in so many seconds, then no more."""

    attempts: int = 10
    window: float = 60.0


STANDARD = Rule()


def recent(attempts: tuple[float, ...], now: float, rule: Rule) -> tuple[float, ...]:
    """Those of the attempts, oldest first, that still count."""
    return tuple(at for at in attempts if at > now - rule.window)


def delay(attempts: tuple[float, ...], now: float, rule: Rule) -> float:
    """Seconds until one more attempt is allowed; 0 if it is allowed now."""
    counted = recent(attempts, now, rule)
    if len(counted) < rule.attempts:
        return 0.0
    # Sums of floating seconds are not exact: none may come out longer than the window.
    return min(rule.window, counted[-rule.attempts] + rule.window - now)


class Throttle:
    """The attempts of the last minute, by name.

    An attempt counts as wrong from its beginning, so that attempts at the same time cannot outrun the count, and is
    taken back when it turns out right. Memory is bounded by forgetting the name tried longest ago. That lets nobody
    slip through: each name in the table has cost a hash, and two threads make some 3,000 of them in a minute.
    """

    def __init__(self, *, rule: Rule = STANDARD, names: int = 10_000) -> None:
        self._rule = rule
        self._names = names
        self._attempts: OrderedDict[str, tuple[float, ...]] = OrderedDict()

    def attempt(self, name: str, now: float) -> None:
        """Counts an attempt; TooManyAttempts if there were too many."""
        known = self._attempts.get(name, ())
        if wait := delay(known, now, self._rule):
            raise TooManyAttempts(f"too many wrong passwords for {name!r}; try again in {wait:.0f} s", retry_after=wait)
        self._attempts[name] = (*recent(known, now, self._rule), now)
        self._attempts.move_to_end(name)
        if len(self._attempts) > self._names:
            self._attempts.popitem(last=False)

    def right(self, name: str, at: float) -> None:
        """Takes back the attempt begun at this time: the password was right."""
        rest = list(self._attempts.pop(name, ()))
        if at in rest:
            rest.remove(at)
        if rest:
            self._attempts[name] = tuple(rest)
