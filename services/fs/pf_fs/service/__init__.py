"""What can be done with filesystems.

Methods that take a `Change` are one step of it: whoever calls them holds `LOCK`.
"""

from __future__ import annotations

from pf_fs.service.departures import Departures
from pf_fs.service.files import Entrance
from pf_fs.service.filesystems import Filesystems
from pf_fs.service.folders import Folders
from pf_fs.service.grants import Grants
from pf_fs.service.mounts import Mount, Mounts
from pf_fs.service.naming import Naming
from pf_fs.service.settling import Settling
from pf_fs.service.updating import Updates

__all__ = [
    "Departures",
    "Entrance",
    "Filesystems",
    "Folders",
    "Grants",
    "Mount",
    "Mounts",
    "Naming",
    "Settling",
    "Updates",
]
