"""The filesystem service for tests, as a process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from support.fs_process import FsProcess
from support.fs_site import FsSite, opened_fs_site
from support.queue_process import QueueProcess


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
