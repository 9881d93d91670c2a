"""Volumes that name a filesystem: the filesystem service says where it lies, as whoever the token is of."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import grpc
import pytest

from support.command_line import CommandLine
from support.csi_site import new_site, refused
from support.fs_site import FsSite


@pytest.mark.timeout(120)
async def test_a_filesystem_is_a_volume_for_whoever_may_mount_it(bucket_line: CommandLine, far_site: FsSite) -> None:
    token = json.loads(bucket_line.output("token create csi --output json"))[0]["secret"]
    bucket_line.output("fs update data --quota-size 64Mi")
    context, missing = {"filesystem": "data"}, {"filesystem": "none"}
    with new_site(PF_CSI_NODE_FS=far_site.process.address) as site:
        site.start()
        target = site.target("pod-1")
        asked: dict[str, Any] = {"volume_context": context, "secrets": {"token": token}}
        await asyncio.to_thread(site.publish, target, **asked)
        (target / "file").write_text("text")
        assert site.stats(target).usage[0].total == 64 << 20
        answers = [
            refused(site.publish, site.target("pod-2"), volume_context=context, secrets={"token": "no-token"}),
            refused(site.publish, site.target("pod-2"), **(asked | {"volume_context": missing})),
            refused(site.publish, site.target("pod-2"), volume_context=context),
        ]
        assert [code for code, _ in answers] == [
            grpc.StatusCode.UNAUTHENTICATED,
            grpc.StatusCode.NOT_FOUND,
            grpc.StatusCode.UNAUTHENTICATED,
        ]
        assert not any(token in text for _, text in answers)
        site.unpublish(target)
        assert not site.mounted().all
    assert "file" in bucket_line.output("fs ls data:/")
