"""The reference of every API, from the comments in protos/."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, MethodDescriptorProto

from paddleflow.common.v1 import access_pb2
from reference import contract
from reference.contract import Source

CALLERS = {
    access_pb2.ACCESS_ANYONE: "anyone, without a token",
    access_pb2.ACCESS_USER: "any user and any service",
    access_pb2.ACCESS_ROOT: "root",
    access_pb2.ACCESS_SERVICE: "services of the installation, and root",
}
INTRODUCTION = """\
# Every RPC

Each service answers `grpc.health.v1.Health`, `grpc.reflection.v1.ServerReflection` and the APIs of
`paddleflow.common.v1`; the other packages are named after the service that answers them. Which reasons a failure can
have beyond those in the tables of each call is in [errors](errors.md).
"""


def page(sources: Sequence[Source]) -> str:
    packages = sorted({source.file.package for source in sources})
    chapters = [chapter(package, [s for s in sources if s.file.package == package]) for package in packages]
    contents = "\n".join(f"- [{package}](#{anchor(package)})" for package in packages)
    return "\n".join([INTRODUCTION, contents, "", *chapters])


def chapter(package: str, sources: Sequence[Source]) -> str:
    about = next((text for source in sources if (text := source.comment(contract.PACKAGE))), "")
    lines = [f"## {package}", "", about, ""]
    for section in (services, messages, enums):
        for source in sources:
            lines += section(source)
    return "\n".join(lines)


def services(source: Source) -> Iterator[str]:
    for number, service in enumerate(source.file.service):
        path = (contract.SERVICE, number)
        yield from (f"### {service.name}", "", source.comment(*path), "")
        for place, method in enumerate(service.method):
            yield from (f"#### {service.name}.{method.name}", "", signature(method), "")
            yield from (source.comment(*path, contract.METHOD, place), "")


def signature(method: MethodDescriptorProto) -> str:
    stream = "stream of " if method.server_streaming else ""
    rule = method.options.Extensions[access_pb2.rule]
    request, reply = link(method.input_type), link(method.output_type)
    return f"{request} → {stream}{reply}. For {CALLERS[rule.access]}."


def messages(source: Source) -> Iterator[str]:
    for number, message in enumerate(source.file.message_type):
        path = (contract.MESSAGE, number)
        yield from (f"### {message.name}", "", source.comment(*path), "")
        if message.field:
            yield from ("| field | type | |", "|---|---|---|")
        for place, field in enumerate(message.field):
            text = cell(source.comment(*path, contract.FIELD, place))
            yield f"| `{field.name}` | {type_name(message, field)}{choice(message, field)} | {text} |"
        yield ""


def enums(source: Source) -> Iterator[str]:
    for number, enum in enumerate(source.file.enum_type):
        path = (contract.ENUM, number)
        yield from (f"### {enum.name}", "", source.comment(*path), "", "| value | number | |", "|---|---|---|")
        for place, value in enumerate(enum.value):
            yield f"| `{value.name}` | {value.number} | {cell(source.comment(*path, contract.VALUE, place))} |"
        yield ""


def type_name(message: DescriptorProto, field: FieldDescriptorProto) -> str:
    entries = {nested.name: nested for nested in message.nested_type if nested.options.map_entry}
    if entry := entries.get(field.type_name.rpartition(".")[2]):
        key, value = (type_name(entry, part) for part in entry.field)
        return f"map of {key} to {value}"
    repeated = "list of " if field.label == FieldDescriptorProto.LABEL_REPEATED else ""
    if field.type_name:
        return repeated + link(field.type_name)
    return repeated + FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()


def choice(message: DescriptorProto, field: FieldDescriptorProto) -> str:
    return f", one of `{message.oneof_decl[field.oneof_index].name}`" if field.HasField("oneof_index") else ""


def link(name: str) -> str:
    """A message or enum, linked to where it is described."""
    package, _, short = name.removeprefix(".").rpartition(".")
    if package == "google.protobuf":
        return f"[{short}](https://protobuf.dev/reference/protobuf/google.protobuf/#{short.lower()})"
    return f"[{short}](#{anchor(short)})"


def anchor(heading: str) -> str:
    return heading.lower().replace(".", "")


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
