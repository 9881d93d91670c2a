"""The reference of the settings, from the sentences below their fields."""

from __future__ import annotations

from collections.abc import Iterator

from pf_csi.settings import ClientPodsSettings, ControllerSettings, HolderSettings, NodeSettings
from pf_fs.settings import FsSettings
from pf_job.settings import JobSettings
from pf_kit.settings import Setting, Settings, describe
from pf_pipeline.settings import PipelineSettings
from pf_queue.settings import QueueSettings
from reference.rpc import cell

SERVICES: tuple[tuple[str, str, type[Settings]], ...] = (
    ("pf-queue", "PF_QUEUE", QueueSettings),
    ("pf-fs", "PF_FS", FsSettings),
    ("pf-job", "PF_JOB", JobSettings),
    ("pf-pipeline", "PF_PIPELINE", PipelineSettings),
    ("pf-csi controller", "PF_CSI_CONTROLLER", ControllerSettings),
    ("pf-csi node", "PF_CSI_NODE", NodeSettings),
    ("pf-csi holder", "PF_CSI_HOLDER", HolderSettings),
    ("pf-csi clients", "PF_CSI_CLIENTS", ClientPodsSettings),
)
INTRODUCTION = """\
# Settings

A service reads its settings from the environment, once, when it starts; `--print-config` shows what it read, secrets
masked. A variable that begins with the service's prefix and is none of its settings is refused, so that a misspelt one
cannot pass unnoticed. A secret is in the file that `…_FILE` names; it may also be given by itself, in the variable
without `_FILE`.
"""


def page() -> str:
    return "\n".join([INTRODUCTION, *(line for name, prefix, cls in SERVICES for line in chapter(name, prefix, cls))])


def chapter(name: str, prefix: str, cls: type[Settings]) -> Iterator[str]:
    yield from (f"## {name}", "", "| variable | value | default | |", "|---|---|---|---|")
    yield from map(row, describe(cls, prefix))
    yield ""


def row(setting: Setting) -> str:
    default = "must be set" if setting.default is None else f"`{setting.default}`" if setting.default else "empty"
    return f"| `{setting.variable}` | {cell(setting.type)} | {default} | {cell(setting.text)} |"
