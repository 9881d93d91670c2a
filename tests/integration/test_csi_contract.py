"""What the driver speaks is what Kubernetes speaks: every message, field, number, type, value, option and method."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2, text_format
from google.protobuf.descriptor import FileDescriptor

from pf_csi.contract import csi_pb2, registration_pb2
from support.go_modules import fetched

SPEC = "github.com/container-storage-interface/spec@v1.12.0"
KUBELET = "k8s.io/kubelet@v0.36.4"


def official(folder: Path, name: str, target: Path) -> descriptor_pb2.FileDescriptorProto:
    command = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={folder}", f"--descriptor_set_out={target}"]
    subprocess.run([*command, name], check=True, capture_output=True)
    (file,) = descriptor_pb2.FileDescriptorSet.FromString(target.read_bytes()).file
    return file


def ours(descriptor: FileDescriptor) -> descriptor_pb2.FileDescriptorProto:
    return descriptor_pb2.FileDescriptorProto.FromString(descriptor.serialized_pb)


def plain(file: descriptor_pb2.FileDescriptorProto) -> list[str]:
    """All but what the file is called, and what protoc writes down beside what was said."""
    file.ClearField("name")
    lines = text_format.MessageToString(file).splitlines()
    return [line for line in lines if not line.strip().startswith("json_name:")]


@pytest.mark.parametrize(
    ("module", "inner", "descriptor"),
    [
        pytest.param(SPEC, "csi.proto", csi_pb2.DESCRIPTOR, id="csi"),
        pytest.param(
            KUBELET, "pkg/apis/pluginregistration/v1/api.proto", registration_pb2.DESCRIPTOR, id="pluginregistration"
        ),
    ],
)
def test_the_contract_is_that_of_kubernetes(
    module: str, inner: str, descriptor: FileDescriptor, tmp_path: Path
) -> None:
    path = fetched(module) / inner
    theirs = official(path.parent, path.name, tmp_path / "official.binpb")
    assert plain(ours(descriptor)) == plain(theirs)


def test_another_number_would_be_seen(tmp_path: Path) -> None:
    path = fetched(SPEC) / "csi.proto"
    theirs = official(path.parent, path.name, tmp_path / "official.binpb")
    theirs.message_type[0].name += "2"
    assert plain(ours(csi_pb2.DESCRIPTOR)) != plain(theirs)
