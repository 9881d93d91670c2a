"""What the small server of `fake_paddleflow` answers about filesystems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paddleflow.fs.v1 import fs_pb2 as pb
from paddleflow.fs.v1 import link_pb2
from paddleflow.problems import FilesystemExists, FilesystemGrantNotFound, FilesystemNotFound
from support.fake_services import BEGAN, World, page

SECRETS = {"password", "secretKey"}


def hide(filesystem: pb.Filesystem | link_pb2.Link) -> None:
    """Secrets are taken, and only their names are told."""
    for name in sorted(SECRETS & set(filesystem.properties)):
        del filesystem.properties[name]
        filesystem.secret_properties.append(name)


@dataclass
class Filesystems:
    world: World

    def CreateFilesystem(self, request: Any) -> Any:  # noqa: N802
        made = pb.Filesystem()
        made.CopyFrom(request.filesystem)
        made.owner = made.owner or self.world.caller
        made.id = f"fs-{made.owner}-{made.name}"
        if made.id in self.world.filesystems:
            raise FilesystemExists(f"{made.owner} has a filesystem {made.name!r}")
        scheme = made.url.partition("://")[0]
        kind = pb.FilesystemKind.Value(f"FILESYSTEM_KIND_{scheme.upper()}")
        made.MergeFrom(pb.Filesystem(kind=kind, create_time=BEGAN, etag="1"))
        hide(made)
        self.world.filesystems[made.id] = made
        return pb.CreateFilesystemResponse(filesystem=made)

    def GetFilesystem(self, request: Any) -> Any:  # noqa: N802
        return pb.GetFilesystemResponse(filesystem=self._found(request))

    def ListFilesystems(self, request: Any) -> Any:  # noqa: N802
        chosen = [
            each
            for _, each in sorted(self.world.filesystems.items())
            if request.owner in ("", each.owner) and each.name.startswith(request.name_prefix)
        ]
        items, token = page(chosen, request, lambda each: each.id)
        return pb.ListFilesystemsResponse(filesystems=items, next_page_token=token)

    def UpdateFilesystem(self, request: Any) -> Any:  # noqa: N802
        found = self._found(request)
        for path in request.update_mask.paths:
            if path.startswith("quota."):
                field = path.removeprefix("quota.")
                setattr(found.quota, field, getattr(request.filesystem.quota, field))
                continue
            name = path.removeprefix("properties.")
            found.properties.pop(name, None)
            secret = [each for each in found.secret_properties if each != name]
            found.secret_properties[:] = secret
            if name in request.filesystem.properties:
                found.properties[name] = request.filesystem.properties[name]
        hide(found)
        return pb.UpdateFilesystemResponse(filesystem=found)

    def DescribeMount(self, request: Any) -> Any:  # noqa: N802
        found = self._found(request)
        remote = pb.RemoteFolder(url=found.url, properties=found.properties, secrets={"secretKey": "told"})
        mount = pb.Mount(filesystem_id=found.id, read_only=request.read_only, remote=remote, etag=found.etag)
        mount.quota.CopyFrom(found.quota)
        return pb.DescribeMountResponse(mount=mount)

    def DeleteFilesystem(self, request: Any) -> Any:  # noqa: N802
        del self.world.filesystems[self._found(request).id]
        return pb.DeleteFilesystemResponse()

    def GrantFilesystem(self, request: Any) -> Any:  # noqa: N802
        found = self._found(request)
        grant = pb.FilesystemGrant(filesystem_id=found.id, user=request.user, access=request.access, create_time=BEGAN)
        self.world.filesystem_grants[f"{found.id}/{request.user}"] = grant
        return pb.GrantFilesystemResponse(grant=grant)

    def RevokeFilesystem(self, request: Any) -> Any:  # noqa: N802
        key = f"{self._found(request).id}/{request.user}"
        if self.world.filesystem_grants.pop(key, None) is None:
            raise FilesystemGrantNotFound(f"{key.partition('/')[0]} is not shared with {request.user!r}")
        return pb.RevokeFilesystemResponse()

    def ListFilesystemGrants(self, request: Any) -> Any:  # noqa: N802
        wanted = self._id(request) if request.HasField("filesystem") else ""
        chosen = [
            each
            for _, each in sorted(self.world.filesystem_grants.items())
            if wanted in ("", each.filesystem_id) and request.user in ("", each.user)
        ]
        items, token = page(chosen, request, lambda each: f"{each.filesystem_id}/{each.user}")
        return pb.ListFilesystemGrantsResponse(grants=items, next_page_token=token)

    def WatchFilesystems(self, _: Any) -> Any:  # noqa: N802
        raise NotImplementedError("streams are played")

    def _id(self, request: Any) -> str:
        return f"fs-{request.filesystem.owner or self.world.caller}-{request.filesystem.name}"

    def _found(self, request: Any) -> pb.Filesystem:
        if (found := self.world.filesystems.get(self._id(request))) is None:
            raise FilesystemNotFound(f"no filesystem {self._id(request)!r}")
        return found
