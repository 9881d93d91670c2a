"""The conformance suite of the Container Storage Interface, against the driver with a real store behind it."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from support.csi_site import Site, new_site
from support.go_modules import built
from support.s3_servers import S3Server, place_in

SANITY = "github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity@v5.4.0"
LEAST = 39
"""Specs that apply to what the driver claims to do."""
ATTEMPTS = 3
COUNT = re.compile(r"(\d+) Passed.*?(\d+) Failed")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["folder", "s3"])
def test_the_driver_is_what_kubernetes_expects(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    program = built("csi-sanity", SANITY)
    with new_site() as site:
        secrets = tmp_path / "secrets.yaml"
        told = on_s3(site, request) if kind == "s3" else {}
        secrets.write_text(json.dumps({"NodePublishVolumeSecret": told}))
        site.start()
        said = ran_connected(program, site, secrets)
        found = COUNT.search(said)
        assert found is not None, said
        assert (int(found[1]) >= LEAST, int(found[2])) == (True, 0), said
        assert not site.mounted().all
        assert not list((site.kubelet / "pods").iterdir())


def on_s3(site: Site, request: pytest.FixtureRequest) -> dict[str, str]:
    """What opens the store for those who mount."""
    server: S3Server = request.getfixturevalue("seaweed_server")
    url, properties = place_in(server, f"csi-{site.folder.name}")
    site.store("data", url, properties)
    return {name: properties[name] for name in ("accessKey", "secretKey")}


def ran_connected(program: Path, site: Site, secrets: Path) -> str:
    """What the suite says, begun again where it has missed that it was connected.

    After dialling it waits for a minute until the state is another than it finds (`utils/grpcutil.go` of csi-test
    5.4.0), and finds that it is connected already if it was not on the processor meanwhile.
    """
    tried = (ran(program, site, secrets) for _ in range(ATTEMPTS))
    return next((said for said in tried if "Connection timed out" not in said), "it never saw that it was connected")


def ran(program: Path, site: Site, secrets: Path) -> str:
    mounts = site.kubelet / "pods"
    options = {
        "endpoint": f"unix://{site.socket('node')}",
        "controllerendpoint": f"unix://{site.socket('controller')}",
        "mountdir": mounts / "sanity",
        "stagingdir": mounts / "staging",
        "secrets": secrets,
        "testvolumesize": 1 << 30,
        "testvolumeexpandsize": 2 << 30,
    }
    command = [str(program), *(f"--csi.{name}={value}" for name, value in options.items())]
    done = subprocess.run(command, cwd=site.folder, capture_output=True, text=True)
    return COLOURS.sub("", done.stdout + done.stderr)
