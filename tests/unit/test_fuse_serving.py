"""What the thread that serves a mount listens to beside the kernel."""

from __future__ import annotations

import os
import socket
import sys
import threading
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

from pf_fuse.kernel.features import Agreement, Feature
from pf_fuse.kernel.transport import Transport
from pf_fuse.kernel.wire import HEAD, REPLY, Ask
from pf_fuse.operations import Answer
from support.fuse_mirror import Manners, Mirror

PATIENCE = 10.0


class Answered(Mirror):
    """Answers later, when it hears a bell for which it has begun to listen meanwhile."""

    def fsyncdir(self, node: int) -> Answer[None]:
        self.bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        answer: Future[None] = Future()

        def heard() -> None:
            with suppress(BlockingIOError):
                os.eventfd_read(self.bell)
                self.kernel.unwatch(self.bell)
                os.close(self.bell)
                answer.set_result(None)

        self.kernel.watch(self.bell, heard)
        return answer

    def statfs(self, node: int) -> Answer[os.statvfs_result]:
        sys.exit()


def test_a_bell_is_heard_though_the_kernel_asks_nothing_more(tmp_path: Path) -> None:
    asking, device = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with asking, device:
        asking.settimeout(PATIENCE)
        operations = Answered(tmp_path, Manners())
        transport = Transport(device.fileno(), Agreement(45, Feature(0), 4096), operations, None)
        serving = threading.Thread(target=serve, args=(transport,), daemon=True)
        serving.start()
        try:
            asking.send(request(Ask.FSYNCDIR, 7))
            while not transport.waiting:
                assert serving.is_alive()
            os.eventfd_write(operations.bell, 1)
            assert asking.recv(4096) == REPLY.pack(REPLY.size, 0, 7)
        finally:
            asking.send(request(Ask.STATFS, 8))
            serving.join(PATIENCE)
        assert not serving.is_alive()


def serve(transport: Transport) -> None:
    with suppress(SystemExit):
        transport.serve()


def request(ask: Ask, unique: int) -> bytes:
    """Of the root of the mount, by nobody, with nothing beside."""
    body = bytes(64)
    return HEAD.pack(HEAD.size + len(body), ask, unique, 1) + body
