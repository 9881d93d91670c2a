"""What must be known to reach a Hadoop file system."""

from __future__ import annotations

from dataclasses import dataclass

from pf_backends.reach import ANYWHERE, Reach


@dataclass(frozen=True, slots=True)
class HdfsSettings:
    """Name nodes, who calls, and where the files are."""

    names: tuple[tuple[str, int], ...]
    """Hosts and ports of name nodes, of which one is active and the others stand by."""
    user: str
    path: str = ""
    """The folder that is the top, without slashes around it, from the root of the file system on."""
    block_size: int = 0
    """Bytes of a block of new files; 0: what the cluster has for that."""
    replication: int = 0
    """How often new files are kept; 0: what the cluster has for that."""
    reach: Reach = ANYWHERE
    deadline: float = 60.0
    """Seconds for a call, beside the time that its bytes take."""
    slowest: int = 1 << 20
    """Bytes per second: what takes longer than that, and the deadline, has failed."""

    @property
    def address(self) -> str:
        """What people call it."""
        hosts = ",".join(f"{host}:{port}" for host, port in self.names)
        return f"hdfs://{self.user}@{hosts}/{self.path}"
