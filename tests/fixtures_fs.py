"""The filesystem service for tests, as a process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.fs_process import FsProcess
from support.fs_site import FsSite, opened_fs_site
from support.queue_process import QueueProcess
from support.queue_site import PASSWORD
from support.s3_servers import BUCKET, KEYS, S3Server


@pytest.fixture(scope="session")
def fs_process(queue_process: QueueProcess) -> Iterator[FsProcess]:
    """The service that all tests of a process share; each makes things of users of its own."""
    process = FsProcess(queue_process)
    process.start()
    yield process
    process.remove()


@pytest.fixture
async def fs_site(fs_process: FsProcess) -> AsyncIterator[FsSite]:
    """The running service, as root and others call it."""
    async with opened_fs_site(fs_process) as opened:
        yield opened


@pytest.fixture
async def far_site(queue_process: QueueProcess) -> AsyncIterator[FsSite]:
    """The service as users have it, which may call servers of this machine."""
    process = FsProcess(queue_process, real=True)
    process.start()
    try:
        async with opened_fs_site(process) as opened:
            yield opened
    finally:
        process.remove()


@pytest.fixture
async def bucket_line(far_site: FsSite, seaweed_server: S3Server, tmp_path: Path) -> CommandLine:
    """Somebody with a filesystem in a bucket."""
    alice = await far_site.add_user("alice")
    process = far_site.process
    services = {"fs": process.address}
    made = CommandLine.configured(
        tmp_path, process.queue.address, user=alice.name, password=PASSWORD, services=services
    )
    keys = f"-o endpoint=http://127.0.0.1:{seaweed_server.port} -o accessKey={KEYS.access} -o secretKey={KEYS.secret}"
    made.output(f"fs create data s3://{BUCKET}/{far_site.tag} {keys}")
    return made
