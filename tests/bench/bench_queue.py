"""How fast admission is on this machine: prints a table, and writes it to .bench/queue.json.

`make bench-queue` runs all parts; names of parts as arguments run only these.
"""

from __future__ import annotations

import sys

from bench import (
    bench_queue_core,
    bench_queue_fair,
    bench_queue_kueue,
    bench_queue_rounds,
    bench_queue_scale,
    bench_queue_service,
    report,
)

PARTS: report.Parts = {
    "core": bench_queue_core.figures,
    "fair": bench_queue_fair.figures,
    "rounds": bench_queue_rounds.figures,
    "service": bench_queue_service.figures,
    "baseline": bench_queue_kueue.baseline,
    "large-scale": bench_queue_kueue.large_scale,
    "scale": bench_queue_scale.figures,
}

if __name__ == "__main__":
    sys.exit(report.run("queue", "Admission on this machine", PARTS, sys.argv[1:]))
