"""Reads blocks from data nodes."""

from __future__ import annotations

from dataclasses import dataclass

from pf_backends.hdfs.checksums import Checks, checks
from pf_backends.hdfs.hadoop_pb2 import Begun, LocatedBlock, Operation, PacketHead, ReadBlock, ReadEnd
from pf_backends.hdfs.lines import Line, Lines, Machine, parsed, told
from pf_backends.wire.messages import Broken

VERSION = b"\x00\x1c"
"""Of the protocol of data nodes."""
_READ = b"\x51"
_PACKET_HEAD = 6
"""Bytes before the message that begins a packet: how many follow, and how many are in the message."""
_MOST_HEAD = 1 << 10
_MOST_PACKET = 1 << 26
_GOOD, _UNCHECKED, _WRONG = 6, 0, 2
KEPT = 2.0
"""Seconds; data nodes hang up on those who are silent for four."""


class Denied(Broken):
    """A data node does not do what it is asked."""


@dataclass(frozen=True, slots=True)
class Packet:
    """How a packet begins."""

    offset: int
    """In the block."""
    size: int
    """Bytes."""
    sums: int
    """Bytes of the numbers before them."""
    last: bool


def require_begun(begun: Begun) -> None:
    """Raises Denied."""
    if begun.status:
        raise Denied(begun.message or f"denies it with status {begun.status}")


class BlockReader:
    """For many threads."""

    def __init__(self, lines: Lines, caller: str) -> None:
        self._lines = lines
        self._caller = caller

    def read(self, located: LocatedBlock, offset: int, into: memoryview, deadline: float) -> None:
        """Fills memory with the bytes of a block from an offset on, from whoever has them. Raises Broken."""
        done = 0
        broken = Broken("nobody has the block")
        for node in located.nodes:
            machine = node.id.address, node.id.port
            try:
                self._read(machine, located, offset + done, into[done:], deadline)
            except Broken as error:
                # What came before was checked: the next one goes on from there.
                done += error.count
                broken = Broken(f"{machine[0]}:{machine[1]} {error.why}")
            else:
                return
        raise broken

    def _read(self, machine: Machine, located: LocatedBlock, offset: int, into: memoryview, deadline: float) -> None:
        line = self._lines.idle(machine)
        if line is not None:
            try:
                self._asked(machine, line, located, offset, into, deadline)
            except Denied:
                raise
            except Broken as broken:
                if broken.answered:
                    raise
            else:
                return
        self._asked(machine, self._lines.new(machine, deadline), located, offset, into, deadline)

    def _asked(
        self, machine: Machine, line: Line, located: LocatedBlock, offset: int, into: memoryview, deadline: float
    ) -> None:
        base = Operation.Base(block=located.block, token=located.token)
        ask = ReadBlock(operation=Operation(base=base, caller=self._caller), offset=offset, size=len(into))
        try:
            line.until(deadline)
            line.send(VERSION + _READ + told(ask))
            begun = line.message(Begun)
            require_begun(begun)
            Packets(line, checks(begun.sending.checksum), offset, into).take_all()
        except BaseException:
            self._lines.drop(line)
            raise
        self._lines.keep(machine, line)


class Packets:
    """The packets of one answer, whose bytes go where they are wanted."""

    def __init__(self, line: Line, how: Checks, offset: int, into: memoryview) -> None:
        self._line = line
        self._how = how
        self._offset = offset
        self._into = into
        self._done = 0
        self._sums = bytearray()

    def take_all(self) -> None:
        """Raises Broken, with the number of bytes that are right."""
        try:
            while not (packet := self._begun()).last:
                self._take(packet)
            self._require(self._done == len(self._into), "sends too few bytes")
            status = _GOOD if self._how.kind else _UNCHECKED
            self._line.send(told(ReadEnd(status=status)))
        except Broken as broken:
            raise Broken(broken.why, answered=True, count=self._done) from None

    def _begun(self) -> Packet:
        raw = self._line.take(_PACKET_HEAD)
        size, head_size = int.from_bytes(raw[:4], "big"), int.from_bytes(raw[4:], "big")
        self._require(size <= _MOST_PACKET and head_size <= _MOST_HEAD, "sends a packet that is too large")
        head = parsed(PacketHead, self._line.take(head_size))
        sums = size - 4 - head.size
        self._require(head.size >= 0 and sums == self._how.width(head.size), "sends a packet of another size")
        return Packet(head.offset, head.size, sums, head.last and not head.size)

    def _take(self, packet: Packet) -> None:
        """Packets begin and end where checked pieces do: the first and the last can have more than is wanted."""
        wanted = self._offset + self._done
        before = wanted - packet.offset
        self._require(0 <= before < packet.size, "sends other bytes than were asked for")
        room = self._into[self._done : self._done + packet.size - before]
        if len(self._sums) < packet.sums:
            self._sums = bytearray(packet.sums)
        sums = memoryview(self._sums)[: packet.sums]
        if len(room) == packet.size:
            self._line.fill(sums, room)
            data = room
        else:
            data = memoryview(bytearray(packet.size))
            self._line.fill(sums, data)
        self._require(self._how.are_right(data, sums), "sends bytes that do not fit their checksum")
        if data is not room:
            room[:] = data[before : before + len(room)]
        self._done += len(room)

    def _require(self, right: bool, why: str) -> None:
        if not right:
            raise Broken(why, answered=True)
