"""Pods of tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube.api import Thing
from kube.images import BUSYBOX

FOR_EVER = ("sleep", "2147483647")


def pod(name: str, command: Sequence[str] = FOR_EVER, **container: Any) -> Thing:
    """One container of the small image."""
    said = {"name": "main", "image": BUSYBOX, "imagePullPolicy": "Never", "command": list(command), **container}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [said]},
    }
