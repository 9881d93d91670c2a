"""The loop of a trainer, with a thread that keeps its lease alive."""

from __future__ import annotations

import os
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar, Unpack

from paddleflow.channel import open_blocking_channel
from paddleflow.models.shards import LeasedShard, LeaseOutcome, ShardLease, ShardWait
from paddleflow.problems import Problem, Unauthenticated
from paddleflow.sync.datasets import Datasets
from paddleflow.sync.session import Session
from paddleflow.training.environment import own_connection
from paddleflow.training.shard import LEFT, Shard, ShardOptions, Verdict, plan_of, too_old
from paddleflow.training.trying import LAST_WORDS, Trying

R = TypeVar("R")


def shards(name: str, **options: Unpack[ShardOptions]) -> Generator[Shard, None, None]:
    """The shards of a dataset that this replica of a job gets, until all are done.

    Each counts as done when the loop comes round; when it is left otherwise, by `break` or an error, the shard has
    failed, unless `Shard.give_back` was called. While the service is away the loop waits for it.
    """
    with _opened() as datasets:
        trainer, plan = _Trainer(datasets, options), plan_of(name, options)
        trainer.insist(lambda: datasets.open("", plan, options.get("items", ())))
        with _renewing(datasets, options, plan.lease.total_seconds() / 3) as held:
            done: ShardLease | None = None
            while leased := trainer.next(name, done):
                # Kept alive until the service knows that it is done.
                held.clear()
                shard = held[leased.lease] = Shard(leased, time.monotonic())
                try:
                    yield shard
                except GeneratorExit:
                    with suppress(Problem):
                        trainer.leave(shard)
                    raise
                done = trainer.settle(shard)


class _Trainer:
    """Asks as long as it takes."""

    def __init__(self, datasets: Datasets, options: ShardOptions) -> None:
        self._datasets = datasets
        self._options = options

    def next(self, name: str, done: ShardLease | None) -> LeasedShard | None:
        """The next shard, once there is one; None if there will be none. The one before is done, if it is given."""
        while True:
            request = uuid.uuid4().hex
            outcome = self.insist(lambda: self._lease(name, done, request))  # noqa: B023 - called at once
            match outcome:
                case LeasedShard():
                    return outcome
                case ShardWait(wait):
                    done = None
                    time.sleep(wait.total_seconds() * (0.5 + _chance() / 2))
                case _:
                    return None

    def settle(self, shard: Shard) -> ShardLease | None:
        """Gives back a shard that is not done; returns the lease of one that is."""
        shard.closed, verdict = True, shard.verdict
        if verdict is None:
            return shard.lease
        self.insist(lambda: self._give_back(shard.lease, verdict))
        return None

    def leave(self, shard: Shard) -> None:
        """Gives a shard back in a hurry."""
        verdict = shard.verdict or Verdict(failed=True, reason=LEFT)
        self.insist(lambda: self._give_back(shard.lease, verdict), Trying(time.monotonic() + LAST_WORDS))

    def insist(self, call: Callable[[], R], trying: Trying | None = None) -> R:
        """The answer, once there is one. Raises problems that will not go away."""
        trying = trying or Trying.patiently(time.monotonic(), self._options)
        while True:
            try:
                return call()
            except Problem as problem:
                time.sleep(trying.delay(problem, time.monotonic(), _chance()))
                trying = trying.failed()

    def _lease(self, name: str, done: ShardLease | None, request: str) -> LeaseOutcome:
        wanted = self._options.get("pass_number", 0)
        return self._datasets.lease(name, pass_number=wanted, finished=done, request_id=request)

    def _give_back(self, lease: ShardLease, verdict: Verdict) -> bool:
        return self._datasets.give_back(lease, failed=verdict.failed, reason=verdict.reason)


@contextmanager
def _opened() -> Iterator[Datasets]:
    connection = own_connection(os.environ)
    with open_blocking_channel(connection.address, connection.tls) as channel:
        yield Datasets(Session(channel, connection), channel)


@contextmanager
def _renewing(datasets: Datasets, options: ShardOptions, pause: float) -> Iterator[dict[ShardLease, Shard]]:
    """Keeps alive the leases that are put into what it gives."""
    held: dict[ShardLease, Shard] = {}
    stop = threading.Event()

    def run() -> None:
        while not stop.wait(pause):
            kept = {
                lease: shard for lease, shard in held.copy().items() if not too_old(shard, options, time.monotonic())
            }
            if kept:
                _renew(datasets, kept)

    thread = threading.Thread(target=run, name="paddleflow-leases", daemon=True)
    thread.start()
    try:
        yield held
    finally:
        stop.set()
        thread.join()


def _renew(datasets: Datasets, held: dict[ShardLease, Shard]) -> None:
    try:
        good = set(datasets.renew(list(held)))
    except Unauthenticated:
        good = set()
    except Problem:
        # The service is away. It keeps what it knows, and is asked again soon.
        return
    for lease, shard in held.items():
        shard.lost = not shard.closed and lease not in good


def _chance() -> float:
    return secrets.SystemRandom().random()
