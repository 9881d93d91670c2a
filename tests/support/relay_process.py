"""A relay as a process of its own: `relay_process.py DSN SCHEMA REDIS`."""

from __future__ import annotations

import asyncio
import sys

from pf_kit.bus.relay import Relay
from pf_kit.bus.stream import RedisStream, open_redis
from pf_kit.clock import SystemClock
from pf_kit.postgres.install import read_install
from pf_kit.postgres.log import PostgresLog
from pf_kit.postgres.pool import PoolSettings, open_pool
from pf_kit.postgres.positions import PostgresRelayMark
from pf_kit.postgres.views import PostgresView


async def main(dsn: str, schema: str, redis_url: str) -> None:
    async with open_pool(PoolSettings(dsn, schema)) as pool:
        view = PostgresView(pool)
        log = PostgresLog(view, (await read_install(view)).epoch)
        bus = RedisStream(open_redis(redis_url), "test")
        await Relay(log, PostgresRelayMark(view), bus, SystemClock()).run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
