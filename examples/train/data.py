"""Writes noisy points of a line, and the rates at which to learn from them."""

import json
import random
import sys
import time
from pathlib import Path

count, points, rates = int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
chance = random.Random(1)
places = [chance.uniform(-1, 1) for _ in range(count)]
time.sleep(1)
points.write_text(json.dumps([(x, 3 * x - 2 + chance.gauss(0, 0.5)) for x in places]))
rates.write_text(json.dumps([0.01, 0.1, 0.5]))
print(f"{count} points")
