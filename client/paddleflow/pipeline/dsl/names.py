"""What names may look like, and how a name that may not is refused."""

from __future__ import annotations

import re

from paddleflow.common.exception import PaddleFlowSDKException

DSL_ERROR = "PipelineDSLError"
"""The code of every exception of the DSL."""
ENTRY_POINT_NAME = "PF-ENTRY-POINT"
"""The DAG that holds what stands at the top of a pipeline."""

PIPELINE_NAME = "^[A-Za-z_][A-Za-z0-9_-]{0,127}$"
COMPONENT_NAME = "^[a-zA-Z][a-zA-Z0-9-]{0,29}$"
VARIABLE_NAME = "^[A-Za-z_][A-Za-z0-9_]{0,49}$"
ENVIRONMENT_NAME = "^[A-Za-z_][A-Za-z0-9_]{0,127}$"
MOST_OF_A_VARIABLE = 50
"""How many characters the name of a parameter or an artifact has at most."""


class UnknownName(PaddleFlowSDKException, KeyError):
    """A component has nothing of this name. It is a KeyError as well, which whoever looks into a dictionary expects."""


def refused(message: str) -> PaddleFlowSDKException:
    """The exception that says so."""
    return PaddleFlowSDKException(DSL_ERROR, message)


def check_name(what: str, name: object, pattern: str) -> str:
    """The name; raises if it does not look like one."""
    # `$` also matches before a line feed at the end.
    if not isinstance(name, str) or not re.match(pattern, name) or name.endswith("\n"):
        raise refused(f"{what} cannot be named {name!r}: a name has to match {pattern}")
    return name
