"""How long calls are tried again."""

from __future__ import annotations

import json

from paddleflow.channel import SERVICE_CONFIG

RESTART_SECONDS = 5.0
"""What a supervisor takes to bring a killed service back, with room to spare."""


def test_retries_begin_at_once_and_outlast_a_restart_of_the_service() -> None:
    [method] = json.loads(SERVICE_CONFIG)["methodConfig"]
    policy = method["retryPolicy"]
    first, most = (float(policy[name].removesuffix("s")) for name in ("initialBackoff", "maxBackoff"))
    delays = [min(first * policy["backoffMultiplier"] ** at, most) for at in range(policy["maxAttempts"] - 1)]
    assert policy["maxAttempts"] <= 5
    assert delays[0] <= 0.2
    assert 0.8 * sum(delays) >= RESTART_SECONDS
