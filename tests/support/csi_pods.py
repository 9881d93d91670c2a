"""Clients as pods have them: processes of another user, without any right, in namespaces of their own."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support.csi_site import Site, new_site
from support.mounts import children
from support.repository import BIN
from support.stacks import wait_until

USER = 65534
_NAMESPACES = ["unshare", "--mount", "--propagation", "slave", "--pid", "--fork", "--kill-child", "--mount-proc"]
_NOBODY = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs", "--bounding-set=-all"]


@dataclass
class Container:
    """One in which a client stands by."""

    process: subprocess.Popen[bytes]

    @property
    def first(self) -> int:
        """Its first process, as it is known outside of it; 0 while it is being started."""
        return next(iter(children(self.process.pid)), 0)

    @property
    def client(self) -> int:
        """Whoever serves a mount in it; 0 if nobody does."""
        return next(iter(children(self.first)), 0) if self.first else 0

    def kill_client(self) -> None:
        os.kill(self.client, signal.SIGKILL)

    def tell_to_go(self) -> None:
        os.kill(self.first, signal.SIGTERM)

    def kill(self) -> None:
        if self.first:
            os.kill(self.first, signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    @property
    def ended(self) -> int | None:
        """With which status; None while it runs."""
        return self.process.poll()


@dataclass
class Pods:
    """The driver on a machine where clients are pods."""

    site: Site
    containers: list[Container] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """Where clients come."""
        return self.site.folder / "door"

    @property
    def states(self) -> Path:
        return self.site.folder / "clients"

    def container(self, name: str, user: int = USER) -> Container:
        command = [*_NAMESPACES, *(word.replace(str(USER), str(user)) for word in _NOBODY)]
        surroundings = os.environ | {"MACHINE": str(self.site.folder)}
        with (self.site.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [*command, str(BIN / "pf-fuse"), "stand-by", str(self.folder)], env=surroundings, stdout=log, stderr=log
            )
        container = Container(process)
        self.containers.append(container)
        return container

    def keepers(self) -> list[int]:
        """Processes that keep mounts."""
        containers = {pid for each in self.containers for pid in (each.process.pid, each.first, *children(each.first))}
        return [pid for pid in self.site.clients() if pid not in containers]

    def until_serving(self, container: Container) -> None:
        wait_until(lambda: container.client != 0)


@contextmanager
def new_pods(**variables: str) -> Iterator[Pods]:
    with new_site(PF_CSI_HOLDER_CLIENTS_RUN="pods", PF_CSI_HOLDER_CLIENTS_USER=str(USER), **variables) as site:
        pods = Pods(site)
        site.folder.chmod(0o711)
        site.data.chmod(0o777)
        site.variables |= {
            "PF_CSI_HOLDER_CLIENTS_FOLDER": str(pods.folder),
            "PF_CSI_HOLDER_CLIENTS_STATES": str(pods.states),
        }
        site.start()
        try:
            yield pods
        finally:
            for container in pods.containers:
                container.kill()
