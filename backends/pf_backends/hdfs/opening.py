"""Opens a folder of a Hadoop file system."""

from __future__ import annotations

from pf_backends.hdfs.backend import HdfsBackend
from pf_backends.hdfs.settings import HdfsSettings
from pf_backends.reach import Reach


def opened(
    names: tuple[tuple[str, int], ...],
    user: str,
    path: str,
    block_size: int,
    replication: int,
    reach: Reach,
    deadline: float,
) -> HdfsBackend:
    return HdfsBackend(HdfsSettings(names, user, path, block_size, replication, reach, deadline))
