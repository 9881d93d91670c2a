"""Learns a line from points at one rate."""

import json
import sys
import time
from pathlib import Path

points, rate, model = Path(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3])
known = json.loads(points.read_text())
slope = offset = 0.0
for step in range(1, 61):
    errors = [(slope * x + offset - y, x) for x, y in known]
    slope -= rate * 2 * sum(error * x for error, x in errors) / len(known)
    offset -= rate * 2 * sum(error for error, _ in errors) / len(known)
    if step % 20 == 0:
        print(f"rate {rate}, step {step}: {slope:.2f} x + {offset:.2f}", flush=True)
        time.sleep(0.3)
loss = sum((slope * x + offset - y) ** 2 for x, y in known) / len(known)
model.write_text(json.dumps({"rate": rate, "slope": slope, "offset": offset, "loss": loss}))
