"""Writes blocks: to one data node, which hands them on to the next, and so on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pf_backends.hdfs.blocks import VERSION, Denied, require_begun
from pf_backends.hdfs.checksums import Checks
from pf_backends.hdfs.hadoop_pb2 import Ack, Begun, DataNode, LocatedBlock, Operation, PacketHead, WriteBlock
from pf_backends.hdfs.lines import Lines, told
from pf_backends.wire.messages import Broken

_WRITE = b"\x50"
_PACKET = 1 << 18
"""Bytes that are sent at once."""
_AHEAD = 16
"""Packets that are on their way."""
NEW, GROWS, GROWS_AFTER_ALL = 6, 0, 1
"""What is begun: a block; more of a block; the same once more, after some had begun it and others could not."""


class NodeBroken(Broken):
    """A data node cannot be written to; others can."""

    def __init__(self, why: str, node: DataNode) -> None:
        super().__init__(why)
        self.node = node


@dataclass(frozen=True, slots=True)
class Draft:
    """A block that is to be written, or that grows."""

    located: LocatedBlock
    stage: int
    size: int
    """Bytes that it has."""
    generation: int
    """The one that it has then."""


class Pipeline:
    """The way to all who are to have a block; one thread sends over it."""

    def __init__(self, lines: Lines, caller: str, how: Checks, draft: Draft, deadline: float) -> None:
        """Raises NodeBroken."""
        self._lines = lines
        self._how = how
        self._draft = draft
        self._nodes = draft.located.nodes
        first = self._nodes[0]
        try:
            self._line = lines.new((first.id.address, first.id.port), deadline)
        except Broken as broken:
            raise NodeBroken(broken.why, first) from None
        try:
            self._begin(caller, deadline)
        except BaseException:
            lines.drop(self._line)
            raise

    def send(self, body: memoryview) -> None:
        """All of the bytes are with all who are to have them, and the block is done. Raises NodeBroken."""
        number = acknowledged = 0
        try:
            for number, (offset, piece) in enumerate(_pieces(body, self._draft.size, self._how.size)):
                self._packet(offset, number, piece, last=False)
                if number - acknowledged >= _AHEAD:
                    self._acknowledged(acknowledged)
                    acknowledged += 1
            sent = number + 1 if len(body) else 0
            self._packet(self._draft.size + len(body), sent, memoryview(b""), last=True)
            for each in range(acknowledged, sent + 1):
                self._acknowledged(each)
        except NodeBroken:
            raise
        except Broken as broken:
            raise NodeBroken(broken.why, self._nodes[0]) from None
        finally:
            self.give_up()

    def give_up(self) -> None:
        self._lines.drop(self._line)

    def _begin(self, caller: str, deadline: float) -> None:
        located = self._draft.located
        base = Operation.Base(block=located.block, token=located.token)
        ask = WriteBlock(
            operation=Operation(base=base, caller=caller),
            targets=self._nodes[1:],
            stage=self._draft.stage,
            nodes=len(self._nodes),
            least=self._draft.size,
            most=self._draft.size,
            generation=self._draft.generation,
            checksum=self._how.told,
        )
        if located.storage_types:
            ask.storage_type = located.storage_types[0]
            ask.storage_types.extend(located.storage_types[1:])
        begun = Begun(status=0)
        try:
            self._line.until(deadline)
            self._line.send(VERSION + _WRITE + told(ask))
            begun = self._line.message(Begun)
            require_begun(begun)
        except Denied as denied:
            raise NodeBroken(denied.why, self._named(begun.bad_node)) from None
        except Broken as broken:
            raise NodeBroken(broken.why, self._nodes[0]) from None

    def _named(self, bad: str) -> DataNode:
        """Whom the others mean that cannot be reached; the first if they do not say."""
        for node in self._nodes:
            if bad in (f"{node.id.address}:{node.id.port}", f"{node.id.host}:{node.id.port}"):
                return node
        return self._nodes[0]

    def _packet(self, offset: int, number: int, piece: memoryview, *, last: bool) -> None:
        head = PacketHead(offset=offset, number=number, last=last, size=len(piece)).SerializeToString()
        sums = self._how.of(piece) if self._how.kind else b""
        size = 4 + len(sums) + len(piece)
        self._line.send(size.to_bytes(4, "big") + len(head).to_bytes(2, "big") + head + sums, piece)

    def _acknowledged(self, number: int) -> None:
        ack = self._line.message(Ack)
        for node, reply in zip(self._nodes, ack.replies, strict=False):
            if reply:
                raise NodeBroken(f"fails with status {reply}", node)
        if ack.number != number:
            raise Broken(f"acknowledges packet {ack.number} instead of {number}")


def _pieces(body: memoryview, start: int, checked: int) -> Iterator[tuple[int, memoryview]]:
    """The bytes in packets, and where each begins in the block; the first fills up what is checked together."""
    whole = max(1, _PACKET // checked) * checked
    at, size = 0, -start % checked or whole
    while at < len(body):
        yield start + at, body[at : at + size]
        at, size = at + size, whole
