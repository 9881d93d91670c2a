"""Runs whose ends are told to many while the services are killed, and what must have been heard of each."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

import asyncpg

from paddleflow.job.v1 import job_pb2
from paddleflow.pipeline.v1 import pipeline_pb2, run_pb2
from support.receivers import PATHS, SECRET, Receiver, is_genuine
from support.run_chaos import OPEN_JOBS, Site
from support.run_listeners import Follower

SECRET_FILE = "hook"
LINES = "told"
"""The file to which the command of each notice adds the id of its run."""
SIGNED = PATHS[:2]


@dataclass
class Telling:
    """Makes runs that are over at once, and follows each."""

    made: Site
    receiver: Receiver
    followers: list[Follower] = field(default_factory=list)

    async def run(self, stop: asyncio.Event, pause: float) -> None:
        """Makes one after the other, and waits until all are over."""
        (self.made.folder / SECRET_FILE).write_bytes(SECRET + b"\n")
        source = pipeline_pb2.Source(document=self._document(), filesystem=self.made.filesystem)
        async with asyncio.TaskGroup() as following:
            while not stop.is_set():
                request = run_pb2.CreateRunRequest(source=source, request_id=uuid4().hex)
                follower = Follower(self.made, (await self.made.call(request)).run.id)
                self.followers.append(follower)
                following.create_task(follower.run())
                await asyncio.sleep(pause)

    async def is_told(self) -> bool:
        """Whether nobody tries to tell anything any more, and the jobs are over that run commands."""
        if any(state == "pending" for _, state, _ in await self._noted()):
            return False
        return not (await self.made.call(job_pb2.ListJobsRequest(states=OPEN_JOBS))).jobs

    async def wrongs(self) -> Sequence[str]:
        """What is not as it should be, once all is told."""
        ids, noted = [each.run_id for each in self.followers], await self._noted()
        expected = {f"{id_}-{number}" for id_ in ids for number in range(len(PATHS) + 1)}
        wrong = [f"{id_} is {state}: {message}" for id_, state, message in noted if state != "delivered"]
        wrong += [f"{id_} was never noted" for id_ in expected - {id_ for id_, _, _ in noted}]
        wrong += [each for id_ in ids for each in self._of_webhooks(id_)]
        told = Counter((self.made.folder / LINES).read_text().split())
        wrong += [f"the command of {id_} ran {told[id_]} times" for id_ in ids if told[id_] != 1]
        return [*wrong, *[each for follower in self.followers for each in await self._of_happenings(follower)]]

    def _of_webhooks(self, run: str) -> Sequence[str]:
        wrong = []
        for number, path in enumerate(PATHS):
            heard, id_ = self.receiver.heard[path, f"{run}-{number}"], f"{run}-{number}"
            if not self.receiver.is_told(path, id_):
                wrong.append(f"{path} never heard of {id_}")
            if len({each.body for each in heard}) > 1 or any(json.loads(each.body)["run"] != run for each in heard):
                wrong.append(f"{path} heard different things of {id_}")
            if path in SIGNED and not all(map(is_genuine, heard)):
                wrong.append(f"{path} was told of {id_} with a wrong signature")
        return wrong

    async def _of_happenings(self, follower: Follower) -> Sequence[str]:
        there = Follower(self.made, follower.run_id)
        await there.run()
        return [] if follower.told == there.told else [f"of {there.told} of {there.run_id} heard were {follower.told}"]

    async def _noted(self) -> Sequence[tuple[str, str, str]]:
        connection = await asyncpg.connect(self.made.dsn)
        try:
            rows = await connection.fetch("select id, state, message from pipeline.notices")
        finally:
            await connection.close()
        return [(row["id"], row["state"], row["message"]) for row in rows]

    def _document(self) -> str:
        """Tells the signed paths, another one, and runs a command."""
        hooks: list[dict[str, object]] = [{"webhook": f"http://127.0.0.1:{self.receiver.port}{path}"} for path in PATHS]
        for hook in hooks[: len(SIGNED)]:
            hook["secret"] = {"file": SECRET_FILE}
        step = {"command": "x", "condition": "1 == 2"}
        notify = [*hooks, {"command": f"echo $PF_RUN_ID >> {LINES}"}]
        return json.dumps({"name": "tell", "docker_env": "img", "notify": notify, "entry_points": {"never": step}})
