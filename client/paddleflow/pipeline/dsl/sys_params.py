"""Values that only a run knows, as templates to be written into commands, variables and parameters."""

from __future__ import annotations

__all__ = ["PF_LOOP_ARGUMENT", "PF_RUN_ID", "PF_STEP_NAME", "PF_USER_NAME"]

PF_RUN_ID = "{{PF_RUN_ID}}"
PF_STEP_NAME = "{{PF_STEP_NAME}}"
PF_USER_NAME = "{{PF_USER_NAME}}"
PF_LOOP_ARGUMENT = "{{PF_LOOP_ARGUMENT}}"
"""The item of the iteration, as text. `loop_argument.item` names that of a certain step or DAG."""
