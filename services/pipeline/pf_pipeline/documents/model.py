"""What a pipeline document says, once it has been read: nothing in it is resolved or checked yet.

Templates such as ``{{epoch}}`` still stand in texts; references to components have not been followed; what the document
hands down to its steps (image, cache, filesystems) has not been handed down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

Scalar = str | int | float | bool
Value = Scalar | tuple["Value", ...]
"""The value of a parameter, or an item of a loop. Lists are tuples."""


class ParameterKind(StrEnum):
    """What the value of a parameter must be."""

    STRING = "string"
    INT = "int"
    FLOAT = "float"
    PATH = "path"
    LIST = "list"


class Strategy(StrEnum):
    """What becomes of others when a node fails."""

    FAIL_FAST = "fail_fast"
    CONTINUE = "continue"


class CacheMode(StrEnum):
    """How it is told whether files are the same."""

    CONTENT = "content"
    MTIME = "mtime"


class CacheShare(StrEnum):
    """Whose results may be used again."""

    SOURCE = "source"
    """Those of runs of the same source: the same pipeline and version, file, or document."""
    PIPELINE = "pipeline"
    """Those of runs of documents of this name."""
    OWNER = "owner"
    """Those of all runs of the owner."""


class HandlerWhen(StrEnum):
    """When an exit handler runs."""

    ALWAYS = "always"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """The run failed, or was stopped."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that a node is given."""

    value: Value | None
    """None: must be given by whoever refers to the component."""
    kind: ParameterKind | None = None
    """None: whatever the value is."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A filesystem that steps see."""

    name: str
    mount_path: str = ""
    """Empty: its usual place."""
    sub_path: str = ""
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """Files that decide whether a step is the same."""

    name: str
    """The filesystem."""
    path: str = "/"
    """Paths in it, joined by commas."""


@dataclass(frozen=True, slots=True)
class Cache:
    """How results are used again. None: not said here."""

    enable: bool | None = None
    max_expired_time: int | None = None
    """Seconds; -1: for ever."""
    fs_scope: tuple[Scope, ...] = ()
    version: str | None = None
    """Part of the key, to be changed when old results are not to be used any more."""
    ignore: tuple[str, ...] = ()
    """Names of parameters and variables that are not part of the key."""
    mode: CacheMode | None = None
    share: CacheShare | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """How a step that failed is tried again, each time as a new job."""

    limit: int
    """How often at most."""
    backoff: timedelta = timedelta(seconds=10)
    """Before the first retry; twice as long before each later one."""
    max_backoff: timedelta = timedelta(minutes=10)
    jitter: float = 0.0
    """Up to this part of a wait is left out by chance, 0 to 1."""
    not_on: tuple[int, ...] = ()
    """Exit statuses after which it is not tried again."""


@dataclass(frozen=True, slots=True)
class Approval:
    """Somebody has to agree before a node goes on."""

    users: tuple[str, ...] = ()
    """Who may; empty: the owner of the run. Root always may."""
    message: str = ""
    timeout: timedelta | None = None
    """After this time without a decision the node fails."""


class ResultKind(StrEnum):
    """What a small result is."""

    STRING = "string"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Result:
    """A small value that a step writes, to the file that `$PF_RESULT_<NAME>` names, and that others can refer to like a
    parameter.
    """

    kind: ResultKind = ResultKind.STRING
    default: Value | None = None
    """The value if the step was skipped, or wrote none; None: then whoever refers to it fails."""


Loop = tuple[Value, ...] | str
"""What a node is repeated for: items, or a text: a template, or JSON of a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """What steps, DAGs and references have in common."""

    name: str
    deps: tuple[str, ...] = ()
    """Names of siblings, in the order they are written, each once."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Templates of input artifacts by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated(Component):
    """A component that may be left out or repeated."""

    condition: str = ""
    loop: Loop | None = None
    max_parallel: int = 0
    """How many iterations may run at once; 0: as many as the run allows."""
    reference: str = ""
    """The component of which this is a copy; empty if it was written here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Repeated):
    """Runs a command."""

    command: str = ""
    docker_env: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    """Names of output artifacts."""
    cache: Cache = field(default_factory=Cache)
    extra_fs: tuple[Mount, ...] = ()
    retry: Retry | None = None
    timeout: timedelta | None = None
    """From the start of an attempt to its end."""
    pending_timeout: timedelta | None = None
    """From when an attempt could start until it does."""
    approval: Approval | None = None
    semaphores: tuple[str, ...] = ()
    results: Mapping[str, Result] = field(default_factory=dict)
    job: Mapping[str, object] = field(default_factory=dict)
    """Fields of the document of a job, as JSON has them, for jobs of more than one process: `framework`, `members`,
    `schedulingPolicy` and so on. Templates in it are replaced as in `command`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dag(Repeated):
    """Consists of other components."""

    children: Mapping[str, Node]
    outputs: Mapping[str, str] = field(default_factory=dict)
    """Templates of output artifacts by name: each is an output of a child."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference(Component):
    """Is a copy of a component."""

    component: str


Node = Step | Dag | Reference


@dataclass(frozen=True, slots=True)
class ExitHandler:
    """A step that runs when a run is over."""

    step: Step | Reference
    when: HandlerWhen = HandlerWhen.ALWAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole document."""

    name: str
    entry_points: Mapping[str, Node]
    components: Mapping[str, Node] = field(default_factory=dict)
    docker_env: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment of all steps, which their own goes before."""
    cache: Cache = field(default_factory=Cache)
    parallelism: int = 10
    disabled: tuple[str, ...] = ()
    strategy: Strategy = Strategy.FAIL_FAST
    post_process: Mapping[str, Step | Reference] = field(default_factory=dict)
    on_exit: Mapping[str, ExitHandler] = field(default_factory=dict)
    main_fs: Mount | None = None
    extra_fs: tuple[Mount, ...] = ()
    semaphores: Mapping[str, int] = field(default_factory=dict)
    """How many steps of all runs of the owner may hold each at once."""
    description: str = ""
    """Like `owner`: of a document that is also a request, as the original's JSON is."""
    owner: str = ""
    notify: tuple[Mapping[str, object], ...] = ()
    """Who is told when a run is over, as JSON has it: `{webhook: URL, secret: {file: …}}` or `{command: …}`."""
