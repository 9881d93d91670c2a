"""What the kit costs on this machine: prints a table, and writes it to .bench/kit.json.

`make bench-kit` runs all parts; names of parts as arguments run only these.
"""

from __future__ import annotations

import sys

from bench import bench_bus, bench_kit_boundary, bench_kit_queue, bench_kit_stack, bench_kit_watch, report

PARTS: report.Parts = {
    "boundary": bench_kit_boundary.figures,
    "queue": bench_kit_queue.figures,
    "watch": bench_kit_watch.figures,
    "bus": bench_bus.figures,
    "stack": bench_kit_stack.figures,
}

if __name__ == "__main__":
    sys.exit(report.run("kit", "The kit on this machine", PARTS, sys.argv[1:]))
