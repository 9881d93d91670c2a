"""Prefect: a server with Postgres, steps in threads of this process."""

from __future__ import annotations

import os
import socket
from http.client import HTTPConnection, HTTPException

from bench.engines.taking import AT_ONCE, CHAIN, FAN, FOLDER, ended, postgres, server, tell, timed, until


def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    os.environ |= {
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_HOME": str(FOLDER / "home"),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_API_DATABASE_CONNECTION_URL": postgres("postgresql+asyncpg"),
        "PREFECT_LOGGING_LEVEL": "ERROR",
    }
    servers = [server("prefect", "server", "start", "--port", str(port))]
    until(lambda: _answers(port), "the server of Prefect")
    measure()
    ended(servers)


def measure() -> None:
    # It reads its settings when it is imported.
    from prefect import flow, task  # noqa: PLC0415
    from prefect.task_runners import ThreadPoolTaskRunner  # noqa: PLC0415

    @task
    def nothing(_: int = 0) -> None:
        pass

    @flow
    def one_after_the_other() -> None:
        for _ in range(CHAIN):
            nothing()

    @flow(task_runner=ThreadPoolTaskRunner(max_workers=AT_ONCE))
    def fan_out() -> None:
        first = nothing.submit()
        many = nothing.map(range(FAN), wait_for=[first])
        nothing.submit(wait_for=many).result()

    one_after_the_other()
    for _ in range(5):
        tell("chain", timed(one_after_the_other))
    tell("fan", timed(fan_out))


def _answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/api/health")
        return connection.getresponse().status == 200
    except (HTTPException, OSError):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    main()
