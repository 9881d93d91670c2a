"""The keys of documents: in YAML as `snake_case`, in JSON as `camelCase`. Both are read everywhere."""

from __future__ import annotations

from collections.abc import Iterable

_CAPITALS = ("fs",)
"""Parts of keys that camelCase has in capitals, if another part is before them."""
_SPECIAL = {"fs_options": ("fsOptions",), "fs_scope": ("fsScope",), "schedule_id": ("scheduleID",)}


def written(key: str) -> tuple[str, ...]:
    """All ways to write a key; a name that somebody chose is none, and has but one."""
    if "_" not in key:
        return (key,)
    return (key, *_SPECIAL.get(key, _camel(key)))


def _camel(key: str) -> tuple[str, ...]:
    first, *rest = key.split("_")
    usual = first + "".join(part.capitalize() for part in rest)
    capital = first + "".join(part.upper() if part in _CAPITALS else part.capitalize() for part in rest)
    return (capital, usual) if capital != usual else (usual,)


def _keys(names: Iterable[str]) -> dict[str, str]:
    """The keys by all ways to write them."""
    return {spelled: name for name in names for spelled in written(name)}


_COMPONENT = ("type", "deps", "parameters", "artifacts")
_REPEATED = (*_COMPONENT, "condition", "loop_argument", "max_parallel")
_PLACED = ("flavour", "queue", "job_type")
"""What places a job, of a step or of all."""
_OWN = (
    *_PLACED,
    "distributed_job",
    "distributed_jobs",
    "command",
    "docker_env",
    "env",
    "cache",
    "extra_fs",
    "retry",
    "timeout",
    "pending_timeout",
    "approval",
)

DAG = _keys((*_REPEATED, "entry_points"))
REFERENCE = _keys((*_COMPONENT, "reference"))
STEP = _keys((*_REPEATED, *_OWN, "semaphores", "results", "job", "reference"))
HANDLER = STEP | {"when": "when"}
DOCUMENT = _keys(
    (
        *("name", "docker_env", "entry_points", "components", "cache", "parallelism", "disabled", "failure_options"),
        *("post_process", "fs_options", "env", "semaphores", "on_exit", "notify", *_PLACED),
        *("fs_name", "username", "desc"),
    )
)
ARTIFACTS = _keys(("input", "output"))
CACHE = _keys(("enable", "max_expired_time", "fs_scope", "version", "ignore", "mode", "share"))
SCOPE = _keys(("name", "path"))
FS_OPTIONS = _keys(("main_fs", "extra_fs"))
MOUNT = _keys(("name", "mount_path", "sub_path", "read_only"))
FAILURE_OPTIONS = _keys(("strategy",))
PARAMETER = _keys(("type", "default"))
RETRY = _keys(("limit", "backoff", "max_backoff", "jitter", "not_on"))
APPROVAL = _keys(("users", "message", "timeout"))
NOTIFY = _keys(("webhook", "secret", "command"))
SECRET = _keys(("file",))
COMPONENT = _keys(("component",))
JOB_FIELDS = (
    *("framework", "members", "limits", "labels", "annotations", "schedulingPolicy", "flavour", "limitFlavour"),
    *("args", "port", "secretEnv", "extensionTemplate"),
)
"""Of the document of a job: those that a step does not say itself."""
