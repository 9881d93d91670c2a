"""How fast pipelines run on this machine: `make bench-pipeline`.

A: steps do nothing, inside of the service; B: each step is a process, through the job service. What other engines
need stands beside what is needed here, and their target is to need no less.
"""

from __future__ import annotations

import sys

from bench import bench_pipeline_many as many
from bench import bench_pipeline_nodes as nodes
from bench.bench_pipeline_peers import peers
from bench.bench_pipeline_site import of
from bench.bench_pipeline_ticks import ticks
from bench.report import Parts, run
from bench.sizes import SHARE

PARTS: Parts = {
    "chain": of(nodes.chains, "chain"),
    "fan": of(nodes.fans, "fan"),
    "large": of(nodes.large, "large"),
    "loop": of(nodes.loops, "loop"),
    "fair": of(many.fair, "fair"),
    "idle": of(many.idle, "idle"),
    "schedules": of(ticks, "schedules"),
    "real-chain": of(nodes.real_chains, "real-chain"),
    "real-fan": of(nodes.real_fans, "real-fan"),
    "real-large": of(nodes.real_large, "real-large", 900.0),
    "real-fair": of(many.real_fair, "real-fair", 900.0),
    "cache": of(nodes.cached_again, "cache"),
    "latency": of(nodes.latency, "latency"),
    **peers(),
}

if __name__ == "__main__":
    title = "Pipelines on this machine" + (f", {SHARE:.0%} of the size" if SHARE != 1.0 else "")
    sys.exit(run("pipeline", title, PARTS, sys.argv[1:]))
