"""For programs that train in a job: its data, shard by shard.

::

    for shard in paddleflow.shards("imagenet", total=1_281_167, size=1_000):
        for record in shard:
            learn(record)

All trainers of the job run this loop, and share out the data among themselves. They may come and go: what one does not
get done another one gets.
"""

from __future__ import annotations

from paddleflow.training.shard import Shard
from paddleflow.training.tasks import async_shards
from paddleflow.training.threads import shards

__all__ = ["Shard", "async_shards", "shards"]
