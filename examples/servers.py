"""A parameter-server job: servers keep the weights, workers fetch them and send gradients back.

Each server keeps a part of the weights. A step is over when all workers have sent their gradients; then each gets the
new weights. The servers serve until they are stopped, which is when all workers are done. It needs nothing but Python.
"""

from __future__ import annotations

import json
import os
import random
import socket
import socketserver
import threading
import time
from collections.abc import Sequence

SERVERS = os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")
WORKERS = int(os.environ["PADDLE_TRAINERS_NUM"])

TRUTH = (3.0, -2.0, 0.5)
"""What is to be found: the weights of two inputs, and a constant."""
STEPS = 40
SAMPLES = 200
RATE = 0.5
PATIENCE = 30.0
"""Seconds to wait for the others."""
PAUSE = 0.05
"""Seconds between two steps, so that people can look on."""


class Weights:
    """The part of the weights that a server keeps."""

    def __init__(self, count: int) -> None:
        self._weights = [0.0] * count
        self._sum = [0.0] * count
        self._lock = threading.Lock()
        self._step = threading.Barrier(WORKERS, action=self._descend, timeout=PATIENCE)

    def push(self, gradient: Sequence[float]) -> list[float]:
        """Adds a gradient; gives the new weights when those of all workers are there."""
        with self._lock:
            self._sum = [mine + each for mine, each in zip(self._sum, gradient, strict=True)]
        self._step.wait()
        return self._weights

    def _descend(self) -> None:
        self._weights = [
            weight - RATE * each / (SAMPLES * WORKERS) for weight, each in zip(self._weights, self._sum, strict=True)
        ]
        self._sum = [0.0] * len(self._sum)


def serve() -> None:
    """Answers each line of gradients with a line of weights: of every n-th weight, if there are n servers."""
    here = os.environ["PADDLE_CURRENT_ENDPOINT"]
    count = len(TRUTH[SERVERS.index(here) :: len(SERVERS)])
    weights = Weights(count)

    class Worker(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            for line in self.rfile:
                self.wfile.write(json.dumps(weights.push(json.loads(line))).encode() + b"\n")

    host, port = here.rsplit(":", 1)
    with socketserver.ThreadingTCPServer((host, int(port)), Worker) as server:
        print(f"keeps {count} of {len(TRUTH)} weights at {here}", flush=True)
        server.serve_forever()


class Client:
    """What a worker has of all servers."""

    def __init__(self) -> None:
        self._files = [connected(endpoint).makefile("rw") for endpoint in SERVERS]

    def push(self, gradient: Sequence[float]) -> list[float]:
        """Sends each server its part of a gradient; gives the weights after this step."""
        for at, file in enumerate(self._files):
            file.write(json.dumps(gradient[at :: len(SERVERS)]) + "\n")
            file.flush()
        parts = [json.loads(file.readline()) for file in self._files]
        return [parts[at % len(parts)][at // len(parts)] for at in range(len(gradient))]


def connected(endpoint: str) -> socket.socket:
    """A connection to a server, which may begin to listen a moment later."""
    host, port = endpoint.rsplit(":", 1)
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection((host, int(port)), PATIENCE)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def samples(rank: int) -> list[tuple[tuple[float, float, float], float]]:
    """Inputs and what belongs to them; those of one worker, the same in every run."""
    chance = random.Random(rank)
    inputs = [(chance.uniform(-1, 1), chance.uniform(-1, 1), 1.0) for _ in range(SAMPLES)]
    return [(each, dot(TRUTH, each)) for each in inputs]


def dot(weights: Sequence[float], inputs: Sequence[float]) -> float:
    return sum(weight * value for weight, value in zip(weights, inputs, strict=True))


def work() -> None:
    """Computes gradients on this worker's data."""
    rank = int(os.environ["PADDLE_TRAINER_ID"])
    servers, data, weights = Client(), samples(rank), [0.0] * len(TRUTH)
    print(f"worker {rank} of {WORKERS} has {len(SERVERS)} servers", flush=True)
    for step in range(1, STEPS + 1):
        errors = [(dot(weights, inputs) - wanted, inputs) for inputs, wanted in data]
        weights = servers.push([sum(error * inputs[at] for error, inputs in errors) for at in range(len(weights))])
        if step % 10 == 0:
            print(f"step {step}: loss {sum(error**2 for error, _ in errors) / SAMPLES:.5f}", flush=True)
        time.sleep(PAUSE)
    print("weights", *(f"{weight:.2f}" for weight in weights), flush=True)


if __name__ == "__main__":
    serve() if os.environ["TRAINING_ROLE"] == "PSERVER" else work()
