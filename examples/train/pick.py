"""Chooses the model with the smallest loss, and tells that."""

import json
import sys
from pathlib import Path

models, best, loss = [Path(model) for model in sys.argv[1].split(",")], Path(sys.argv[2]), Path(sys.argv[3])
known = [json.loads(model.read_text()) for model in models]
chosen = min(known, key=lambda model: model["loss"])
best.write_text(json.dumps(chosen))
loss.write_text(f"{chosen['loss']:.4f}")
print(f"best of {len(known)}: rate {chosen['rate']}, {chosen['slope']:.2f} x + {chosen['offset']:.2f}")
