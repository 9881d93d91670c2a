"""Writes the bytes of a file block by block, around data nodes that cannot be written to."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

from pf_backends.errors import unreachable
from pf_backends.hdfs import hadoop_pb2 as hadoop
from pf_backends.hdfs.checksums import checks
from pf_backends.hdfs.files import Files
from pf_backends.hdfs.lines import Lines
from pf_backends.hdfs.pipeline import GROWS, GROWS_AFTER_ALL, NEW, Draft, NodeBroken, Pipeline

_BROKEN = 5
"""Data nodes that may fail for one block."""
_PAUSE, _LONGEST_PAUSE = 0.002, 0.4
"""Seconds until it is asked again whether enough data nodes have told of a block."""


class BlockWriter:
    """Writes one file, which nobody else can write meanwhile."""

    def __init__(self, files: Files, lines: Lines, path: str, shown: str, defaults: hadoop.Defaults) -> None:
        self._files = files
        self._lines = lines
        self._where = files.own(path)
        self._shown = shown
        self._how = checks(hadoop.Checksum(kind=defaults.checksum, size=defaults.checked))
        self.name = f"paddleflow-{secrets.token_hex(8)}"
        self._last: hadoop.Block | None = None

    def write(self, body: memoryview, block_size: int) -> None:
        """All of the bytes, behind those that are there."""
        for start in range(0, len(body), block_size):
            if start:
                self._files.ask(self._shown, "renewLease", hadoop.RenewLease(writer=self.name), hadoop.Done)
            self._write_block(body[start : start + block_size])

    def grow(self, located: hadoop.LocatedBlock, body: memoryview) -> None:
        """Adds to a block that has room for it."""
        for attempt in range(_BROKEN):
            updated, pipeline = self._regrown(located, GROWS_AFTER_ALL if attempt else GROWS)
            if pipeline is not None:
                break
            if not located.nodes:
                raise unreachable(self._shown, "no data node with its end can be written to")
        else:
            raise unreachable(self._shown, "too many data nodes with its end cannot be written to")
        self._update(located, updated, pipeline)
        try:
            pipeline.send(body)
        except NodeBroken as broken:
            raise unreachable(self._shown, broken.why) from None
        self._last = _sized(updated.block, located.block.size + len(body))

    def complete(self) -> None:
        """The file can be read, with all of its bytes."""
        ask = hadoop.Complete(path=self._where, writer=self.name, last=self._last)
        pause = _PAUSE
        while not self._files.ask(self._shown, "complete", ask, hadoop.Done).done:
            if time.monotonic() + pause > self._files.deadline:
                raise unreachable(self._shown, "its data nodes do not tell that they have its last block")
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _write_block(self, body: memoryview) -> None:
        excluded: list[hadoop.DataNode] = []
        why = ""
        for _ in range(_BROKEN):
            located = self._added(excluded)
            try:
                draft = Draft(located, NEW, 0, located.block.generation)
                Pipeline(self._lines, self.name, self._how, draft, self._files.deadline).send(body)
            except NodeBroken as broken:
                why = broken.why
                excluded.append(broken.node)
                abandon = hadoop.AbandonBlock(block=located.block, path=self._where, writer=self.name)
                self._files.ask(self._shown, "abandonBlock", abandon, hadoop.Done)
            else:
                self._last = _sized(located.block, len(body))
                return
        raise unreachable(self._shown, f"{len(excluded)} data nodes cannot be written to, the last because it {why}")

    def _added(self, excluded: Sequence[hadoop.DataNode]) -> hadoop.LocatedBlock:
        ask = hadoop.AddBlock(path=self._where, writer=self.name, previous=self._last, excluded=excluded)
        return self._files.ask(self._shown, "addBlock", ask, hadoop.AddBlock.Reply).block

    def _regrown(self, located: hadoop.LocatedBlock, stage: int) -> tuple[hadoop.LocatedBlock, Pipeline | None]:
        """The block with its next generation, and the way to who has it; None if one of them had to be left out."""
        ask = hadoop.UpdateBlock(block=located.block, writer=self.name)
        updated = self._files.ask(self._shown, "updateBlockForPipeline", ask, hadoop.UpdateBlock.Reply).block
        way = hadoop.LocatedBlock()
        way.CopyFrom(located)
        way.token.CopyFrom(updated.token)
        draft = Draft(way, stage, located.block.size, updated.block.generation)
        try:
            return updated, Pipeline(self._lines, self.name, self._how, draft, self._files.deadline)
        except NodeBroken as broken:
            _leave_out(located, broken.node)
            return updated, None

    def _update(self, located: hadoop.LocatedBlock, updated: hadoop.LocatedBlock, pipeline: Pipeline) -> None:
        """Tells the name node who has the next generation of a block."""
        ask = hadoop.UpdatePipeline(
            writer=self.name,
            before=located.block,
            after=_sized(updated.block, located.block.size),
            nodes=[node.id for node in located.nodes],
            storages=located.storages,
        )
        try:
            self._files.ask(self._shown, "updatePipeline", ask, hadoop.Done)
        except BaseException:
            pipeline.give_up()
            raise


def _sized(block: hadoop.Block, size: int) -> hadoop.Block:
    return hadoop.Block(pool=block.pool, id=block.id, generation=block.generation, size=size)


def _leave_out(located: hadoop.LocatedBlock, bad: hadoop.DataNode) -> None:
    """Forgets that a data node has the block."""
    at = [node.id.uuid for node in located.nodes].index(bad.id.uuid)
    for told in (located.nodes, located.storages, located.storage_types):
        if at < len(told):
            del told[at]
