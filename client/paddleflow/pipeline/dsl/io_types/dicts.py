"""What components keep their values in: dictionaries that make what is put into them theirs."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from paddleflow.pipeline.dsl.io_types.artifact import Artifact
from paddleflow.pipeline.dsl.io_types.parameter import Parameter
from paddleflow.pipeline.dsl.io_types.placeholder import ArtifactPlaceholder
from paddleflow.pipeline.dsl.io_types.result import Result
from paddleflow.pipeline.dsl.names import DSL_ERROR, ENVIRONMENT_NAME, VARIABLE_NAME, UnknownName, check_name, refused

V = TypeVar("V")


class OwnedDict(dict[str, V], Generic[V]):
    """A dictionary in which everything is put one by one, so that it can be checked."""

    what = "value"
    """What it holds, in the words of messages."""

    def __init__(self, component: Any) -> None:  # noqa: ANN401 -- whatever has a name
        super().__init__()
        self._component = component

    def __missing__(self, key: str) -> V:
        there = f"it has {', '.join(self)}" if self else "it has none"
        raise UnknownName(DSL_ERROR, f"{self._component.name} has no {self.what} {key!r}; {there}")

    def update(self, *others: Any, **given: Any) -> None:  # noqa: ANN401 -- as of a dictionary
        for name, value in dict(*others, **given).items():
            self[name] = value

    def setdefault(self, key: str, default: Any = None) -> V:  # noqa: ANN401 -- as of a dictionary
        if key not in self:
            self[key] = default
        return self[key]


class ParameterDict(OwnedDict[Parameter]):
    """The parameters of a component. A value may be set; a `Parameter` is got."""

    what = "parameter"

    def __setitem__(self, key: str, value: Any) -> None:  # noqa: ANN401 -- what it may be, Parameter says
        if isinstance(value, Parameter) and value.component is None:
            parameter = value
            parameter.set_base_info(key, self._component)
        elif isinstance(value, Parameter) and value.component is self._component:
            raise refused(
                f"the parameter {key} of {self._component.name} cannot refer to its own parameter {value.name}"
            )
        else:
            parameter = Parameter()
            parameter.set_base_info(key, self._component, value)
        super().__setitem__(key, parameter)


class InputArtifactDict(OwnedDict[Artifact]):
    """The input artifacts of a component: each is an artifact of another one."""

    what = "input artifact"

    def __setitem__(self, key: str, value: Artifact | ArtifactPlaceholder) -> None:
        what = f"an input artifact of {self._component.name}"
        check_name(what, key, VARIABLE_NAME)
        if isinstance(value, Artifact):
            given = value.component is not None and value.component is not self._component
        else:
            given = isinstance(value, ArtifactPlaceholder)
        if not given:
            raise refused(f"{what}, {key}, has to be an artifact of another component, as step.outputs[…] is")
        super().__setitem__(key, _received(self._component, key, value))


class OutputArtifactDict(OwnedDict[Artifact]):
    """The output artifacts of a component: a step makes each of them, a DAG hands out those of components in it."""

    what = "output artifact"

    def __setitem__(self, key: str, value: Artifact | ArtifactPlaceholder) -> None:
        owned = isinstance(value, Artifact) and value.component is not None
        if getattr(self._component, "type", "") == "dag":
            if not (owned or isinstance(value, ArtifactPlaceholder)):
                raise refused(
                    f"the output artifact {key} of the DAG {self._component.name} has to be one of a component in it"
                )
            value = _received(self._component, key, value)
        elif owned or not isinstance(value, Artifact):
            raise refused(f"the output artifact {key} of {self._component.name} has to be Artifact()")
        else:
            value.set_base_info(key, self._component)
        super().__setitem__(key, value)


class ResultDict(OwnedDict[Result]):
    """The results of a step. A type may be set; a `Result` is got."""

    what = "result"

    def __setitem__(self, key: str, value: Any) -> None:  # noqa: ANN401 -- a type, its name or a Result
        result = value if isinstance(value, Result) else Result(value)
        super().__setitem__(key, result.given_to(key, self._component))


class EnvDict(OwnedDict[str]):
    """Environment variables. A text, a parameter or a result may be set; a text is got."""

    what = "variable"

    def __setitem__(self, key: str, value: Any) -> None:  # noqa: ANN401 -- checked here
        check_name(f"a variable of {self._component.name}", key, ENVIRONMENT_NAME)
        if not isinstance(value, str | Parameter | Result):
            raise refused(f"the variable {key} of {self._component.name} has to be text or a parameter, not {value!r}")
        super().__setitem__(key, str(value))


def _received(component: Any, name: str, source: object) -> Artifact:  # noqa: ANN401 -- whatever has a name
    """An artifact of this component that comes from elsewhere."""
    artifact = Artifact()
    artifact.set_base_info(name, component, source)
    return artifact
