"""How fast volumes appear in pods, and what the driver keeps of them: `make bench-csi`.

All but `pods` needs no cluster; for that part Kubernetes is built first. `ARGS="publish many"` chooses parts.
"""

from __future__ import annotations

import sys

from bench import csi_cluster as cluster
from bench import csi_machine as machine
from bench.report import Parts, run

PARTS: Parts = {
    "publish": machine.publishing,
    "many": machine.many_volumes,
    "hanging": machine.hanging,
    "cycles": machine.cycles,
    "pods": cluster.starting,
}

if __name__ == "__main__":
    sys.exit(run("csi", "volumes of pods on this machine", PARTS, sys.argv[1:]))
