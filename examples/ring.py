"""Workers of a collective job train one model together: a ring all-reduce over sockets.

Each worker has data of its own. In every step it computes the gradient on these; around the ring all get the sum of all
gradients, so that all have the same weights again. It needs nothing but Python.
"""

from __future__ import annotations

import os
import random
import socket
import struct
import time
from collections.abc import Sequence

RANK = int(os.environ["PADDLE_TRAINER_ID"])
ENDPOINTS = os.environ["PADDLE_TRAINER_ENDPOINTS"].split(",")
SIZE = len(ENDPOINTS)

TRUTH = (3.0, -2.0, 0.5)
"""What is to be found: the weights of two inputs, and a constant."""
STEPS = 40
SAMPLES = 200
RATE = 0.5
PATIENCE = 30.0
"""Seconds to wait for the neighbours."""
PAUSE = 0.05
"""Seconds between two steps, so that people can look on."""


class Ring:
    """The way to the next worker, and from the one before."""

    def __init__(self) -> None:
        host, port = ENDPOINTS[RANK].rsplit(":", 1)
        with socket.create_server((host, int(port))) as server:
            server.settimeout(PATIENCE)
            self._next = connected(ENDPOINTS[(RANK + 1) % SIZE])
            self._previous, _ = server.accept()
        self._previous.settimeout(PATIENCE)

    def all_reduce(self, numbers: Sequence[float]) -> list[float]:
        """The sums of what all workers give, the same for all of them.

        Each number is a chunk here: first the sum of each is collected around the ring, then it is handed around.
        """
        values = [*numbers, *[0.0] * (-len(numbers) % SIZE)]
        chunks = [values[at::SIZE] for at in range(SIZE)]
        for step in range(SIZE - 1):
            received = self._exchange(chunks[(RANK - step) % SIZE])
            at = (RANK - step - 1) % SIZE
            chunks[at] = [mine + other for mine, other in zip(chunks[at], received, strict=True)]
        for step in range(SIZE - 1):
            chunks[(RANK - step) % SIZE] = self._exchange(chunks[(RANK + 1 - step) % SIZE])
        return [chunks[at % SIZE][at // SIZE] for at in range(len(numbers))]

    def _exchange(self, numbers: Sequence[float]) -> list[float]:
        # What is sent is small enough for the buffers of the socket, so nobody waits for a reader.
        self._next.sendall(struct.pack(f"!{len(numbers)}d", *numbers))
        received = b""
        while missing := 8 * len(numbers) - len(received):
            part = self._previous.recv(missing)
            if not part:
                raise ConnectionError(f"worker {(RANK - 1) % SIZE} is gone")
            received += part
        return list(struct.unpack(f"!{len(numbers)}d", received))


def connected(endpoint: str) -> socket.socket:
    """A connection to a worker, which may begin to listen a moment later."""
    host, port = endpoint.rsplit(":", 1)
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection((host, int(port)), PATIENCE)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def samples() -> list[tuple[tuple[float, float, float], float]]:
    """Inputs and what belongs to them; those of this worker, the same in every run."""
    chance = random.Random(RANK)
    inputs = [(chance.uniform(-1, 1), chance.uniform(-1, 1), 1.0) for _ in range(SAMPLES)]
    return [(each, dot(TRUTH, each)) for each in inputs]


def dot(weights: Sequence[float], inputs: Sequence[float]) -> float:
    return sum(weight * value for weight, value in zip(weights, inputs, strict=True))


def main() -> None:
    ring, data, weights = Ring(), samples(), [0.0] * len(TRUTH)
    print(f"worker {RANK} of {SIZE} is in the ring", flush=True)
    for step in range(1, STEPS + 1):
        errors = [(dot(weights, inputs) - wanted, inputs) for inputs, wanted in data]
        gradient = [sum(error * inputs[at] for error, inputs in errors) for at in range(len(weights))]
        *total, loss = ring.all_reduce([*gradient, sum(error**2 for error, _ in errors)])
        weights = [weight - RATE * each / (SAMPLES * SIZE) for weight, each in zip(weights, total, strict=True)]
        if step % 10 == 0:
            print(f"step {step}: loss {loss / (SAMPLES * SIZE):.5f}", flush=True)
        time.sleep(PAUSE)
    print("weights", *(f"{weight:.2f}" for weight in weights), flush=True)


if __name__ == "__main__":
    main()
