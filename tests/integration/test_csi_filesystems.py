"""Volumes that name a filesystem: the filesystem service says where it lies, as whoever the token is of."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc import aio

from paddleflow.fs.v1 import fs_pb2
from support.certificates import Authority
from support.command_line import CommandLine
from support.csi_site import new_site, refused
from support.fs_site import FsSite
from support.s3_servers import OTHER_KEYS


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


@pytest.mark.timeout(120)
async def test_keys_of_a_filesystem_that_are_replaced_need_no_new_mount(
    bucket_line: CommandLine, far_site: FsSite
) -> None:
    token = json.loads(bucket_line.output("token create csi --output json"))[0]["secret"]
    with new_site(PF_CSI_NODE_FS=far_site.process.address) as site:
        site.start("holder", "node")
        target = site.target("pod-1")
        asked: dict[str, Any] = {"volume_context": {"filesystem": "data"}, "secrets": {"token": token}}
        await asyncio.to_thread(site.publish, target, **asked)
        before, clients = site.mounted().all, site.clients()
        bucket_line.output(f"fs update data -o accessKey={OTHER_KEYS.access} -o secretKey={OTHER_KEYS.secret}")
        with (target / "file").open("w") as kept:
            await asyncio.to_thread(site.publish, target, **asked)
            kept.write("text")
        assert (site.mounted().all, site.clients()) == (before, clients)
        (secret,) = (site.folder / "secrets").iterdir()
        assert json.loads(secret.read_text())["answer"]["properties"]["secretKey"] == OTHER_KEYS.secret
        far_site.process.stop()
        await asyncio.to_thread(site.publish, target, **asked)
        assert (target / "file").read_text() == "text", "what is there stays when the service does not answer"
        other = await asyncio.to_thread(refused, site.publish, site.target("pod-2"), **asked)
        assert other[0] is grpc.StatusCode.UNAVAILABLE
        site.unpublish(target)


async def heard(_: object, context: aio.ServicerContext[Any, Any]) -> fs_pb2.DescribeMountResponse:
    """Answers whoever gets through."""
    return await context.abort(grpc.StatusCode.PERMISSION_DENIED, "heard over TLS")


def knowing() -> grpc.GenericRpcHandler:
    """A filesystem service that can say what is mounted, and nothing else."""
    method = grpc.unary_unary_rpc_method_handler(
        heard,
        request_deserializer=fs_pb2.DescribeMountRequest.FromString,
        response_serializer=fs_pb2.DescribeMountResponse.SerializeToString,
    )
    return grpc.method_handlers_generic_handler("paddleflow.fs.v1.FilesystemService", {"DescribeMount": method})


@pytest.mark.timeout(120)
async def test_the_filesystem_service_is_asked_over_tls(tmp_path: Path) -> None:
    authority = Authority("ours")
    issued, files = authority.issue(2), {name: tmp_path / name for name in ("ca", "certificate", "key")}
    for name, data in (("ca", authority.certificate), ("certificate", issued.certificate), ("key", issued.key)):
        files[name].write_bytes(data)
    server = aio.server()
    server.add_generic_rpc_handlers((knowing(),))
    proof = grpc.ssl_server_credentials([(issued.key, issued.certificate)], authority.certificate, True)
    port = server.add_secure_port("127.0.0.1:0", proof)
    await server.start()
    told = {f"PF_CSI_NODE_FS_TLS_{name.upper()}": str(path) for name, path in files.items()}
    asked: dict[str, Any] = {"volume_context": {"filesystem": "data"}, "secrets": {"token": "token"}}
    try:
        with new_site(PF_CSI_NODE_FS=f"127.0.0.1:{port}", **told) as site:
            site.start("node")
            code, text = await asyncio.to_thread(refused, site.publish, site.target("pod-1"), **asked)
            assert code is grpc.StatusCode.PERMISSION_DENIED
            assert "heard over TLS" in text
            site.kill("node")
            files["ca"].unlink()
            with pytest.raises(AssertionError, match="ended with status 1"):
                site.start("node")
            site.processes.pop("node").wait()
            assert f"cannot read {files['ca']}" in site.log("node")
    finally:
        await server.stop(None)
