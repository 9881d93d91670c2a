"""The kernel's side of a mount: reads requests, has them answered, sends the replies.

One thread reads all requests into one buffer and sends at once what is answered at once. What is answered later is
sent by the thread that has the answer.
"""

from __future__ import annotations

import errno
import logging
import os
import time
from collections.abc import Callable
from functools import partial

from pf_fuse.kernel.accesses import Accesses
from pf_fuse.kernel.backing import Registry
from pf_fuse.kernel.describing import describe
from pf_fuse.kernel.features import Agreement, Feature
from pf_fuse.kernel.figures import Figures
from pf_fuse.kernel.greeting import AGAIN, GONE
from pf_fuse.kernel.notices import Notices, name_notice, node_notice, resend_notice
from pf_fuse.kernel.replies import Replies, error_number, refused, report
from pf_fuse.kernel.requests import Requests
from pf_fuse.kernel.watching import Watching
from pf_fuse.kernel.wire import HEAD, REPLY, RESENT
from pf_fuse.operations import Bytes, Operations

log = logging.getLogger(__name__)

BESIDE_DATA = 65536
"""Bytes of a request beside its data; the kernel refuses a smaller buffer than a page more than the largest write."""


class Transport:
    """Serves one mount until it ends; what operations may ask of the kernel."""

    def __init__(self, device: int, agreement: Agreement, operations: Operations, registry: Registry | None) -> None:
        self.figures = Figures()
        self.accesses = Accesses()
        self.again = False
        self._device = device
        self._agreement = agreement
        self._operations = operations
        self._registry = registry
        self._passthrough = registry is not None and Feature.PASSTHROUGH in agreement.features
        self._buffer = bytearray(agreement.largest + BESIDE_DATA)
        self._replies = Replies(device, self.figures, self.accesses)
        self._requests = Requests(self._buffer, operations, self._replies, self._logs)
        self._notices = Notices(device)
        self._watching = Watching(device)

    @property
    def waiting(self) -> int:
        """How many requests have no answer yet."""
        return self._replies.parked

    @property
    def features(self) -> Feature:
        """What the kernel and this mount have agreed to use."""
        return self._agreement.features

    @property
    def passthrough(self) -> bool:
        return self._passthrough

    @property
    def zero_open(self) -> bool:
        return Feature.NO_OPEN | Feature.NO_OPENDIR in self._agreement.features

    def register(self, descriptor: int) -> int:
        if self._registry is None:
            raise PermissionError(errno.EPERM, "nobody here may register files with the kernel")
        return self._registry.register(descriptor)

    def unregister(self, backing: int) -> None:
        if self._registry is not None:
            self._registry.unregister(backing)

    def forget_data(self, node: int) -> None:
        self._notices.tell(node_notice(node))

    def forget_name(self, folder: int, name: bytes) -> None:
        expire = Feature.EXPIRE_ONLY in self._agreement.features
        self._notices.tell(name_notice(folder, name, expire))

    def watch(self, descriptor: int, heard: Callable[[], None]) -> None:
        self._requests.chores.append(partial(self._watching.add, descriptor, heard))

    def unwatch(self, descriptor: int) -> None:
        self._watching.remove(descriptor)

    def settle(self) -> None:
        self._notices.settle()

    def serve(self, resumed: bool = False) -> None:
        """Returns when the mount is gone. `resumed`: another process has served it and may have left requests."""
        self._watching.begin()
        self._operations.begin(self)
        try:
            if resumed and Feature.RESEND in self._agreement.features:
                os.write(self._device, resend_notice())
            self._loop()
        finally:
            self._replies.give_up()
            self._do_chores()
            self._notices.end()
            self._operations.end()

    def _loop(self) -> None:  # noqa: C901  # a call would cost more than the lines that it hides
        """Every step of it counts: it runs for each request."""
        device, buffer, into = self._device, self._buffer, [self._buffer]
        handlers = self._requests.handlers().get
        count, chores, accesses = self.figures.serving.count, self._requests.chores, self.accesses
        readv, write, writev, clock = os.readv, os.write, os.writev, time.perf_counter_ns
        head, reply, watching = HEAD.unpack_from, REPLY.pack, self._watching
        while True:
            if watching.on and not watching.asked():
                continue
            try:
                readv(device, into)
            except OSError as failure:
                if failure.errno in AGAIN:
                    continue
                if failure.errno in GONE:
                    return
                raise
            begun = clock()
            if chores:
                self._do_chores()
            length, ask, unique, node = head(buffer)
            self.again = unique >= RESENT
            error = 0
            body: Bytes | None = b""
            try:
                body = handlers(ask, unsupported)(node, length)
            except OSError as failure:
                error = error_number(failure)
            except Exception as fault:  # noqa: BLE001  # whoever asked must not wait for ever
                error = report(ask, fault)
            if body is None:
                if chores:
                    self._do_chores()
                continue
            try:
                if body:
                    writev(device, (reply(16 + len(body), 0, unique), body))
                else:
                    write(device, reply(16, -error, unique))
            except OSError as failure:
                refused(failure, body)
            took = clock() - begun
            count(ask, took, error)
            if accesses.on:
                accesses.note(describe(bytes(buffer[:length])), error, took)

    def _do_chores(self) -> None:
        chores = self._requests.chores
        while chores:
            try:
                chores.popleft()()
            except Exception:
                log.exception("what was left to do after a late answer failed by a fault of the filesystem")

    def _logs(self) -> bool:
        return self.accesses.on


def unsupported(_node: int, _: int) -> Bytes | None:
    raise OSError(errno.ENOSYS, "no such request is answered here")
