"""What the driver answers to those who look after machines."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator

import grpc
import pytest

from support.csi_site import Site, new_site, refused
from support.waiting import wait_until

ANYWHERE = {f"PF_CSI_{role}_ADMIN": "127.0.0.1:0" for role in ("NODE", "HOLDER", "CONTROLLER")}


@pytest.fixture
def site() -> Iterator[Site]:
    with new_site() as made:
        made.variables.update(ANYWHERE)
        made.start()
        for role in ("node", "holder", "controller"):
            wait_until(lambda role=role: asked(made, role, "/healthz")[0] == 200)  # type: ignore[misc]
        yield made


def asked(site: Site, role: str, path: str) -> tuple[int, str]:
    """The status, and what is told; 0 if nobody is there yet."""
    lines = [json.loads(line) for line in site.log(role).splitlines() if "health and measures are told" in line]
    if not lines:
        return 0, ""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{lines[-1]['port']}{path}", timeout=5.0) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()
    except OSError:
        return 0, ""


def test_each_part_says_that_it_lives_and_works(site: Site) -> None:
    for role in ("node", "holder", "controller"):
        assert asked(site, role, "/healthz") == (200, "ok\n")
        wait_until(lambda role=role: asked(site, role, "/readyz") == (200, "ready\n"))  # type: ignore[misc]


def test_the_node_is_ready_while_somebody_holds_mounts(site: Site) -> None:
    wait_until(lambda: asked(site, "node", "/readyz")[0] == 200)
    site.kill("holder")
    wait_until(lambda: asked(site, "node", "/readyz")[0] == 503)
    assert asked(site, "node", "/healthz")[0] == 200
    site.start("holder")
    wait_until(lambda: asked(site, "node", "/readyz")[0] == 200)


def test_calls_and_mounts_are_counted(site: Site) -> None:
    site.publish(site.target("pod-1"))
    code, _ = refused(site.publish, site.folder / "elsewhere")
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    method = 'grpc_method="NodePublishVolume",grpc_service="csi.v1.Node"'
    for result in ("OK", "INVALID_ARGUMENT"):
        # A call is counted when it is over, which may be a moment after its answer.
        counted = f'grpc_server_handled_total{{grpc_code="{result}",{method}}} 1.0'
        wait_until(lambda counted=counted: counted in asked(site, "node", "/metrics")[1])  # type: ignore[misc]
    assert 'paddleflow_csi_mounts{state="ready"} 1.0' in asked(site, "holder", "/metrics")[1]
    site.unpublish(site.target("pod-1"))
    wait_until(lambda: 'paddleflow_csi_mounts{state="ready"} 0.0' in asked(site, "holder", "/metrics")[1])


def test_nobody_is_told_anything_unless_it_is_said_where() -> None:
    with new_site() as site:
        site.start("controller")
        assert "health and measures" not in site.log("controller")
