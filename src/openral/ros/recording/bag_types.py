"""Types of a recording: openral's where the recorded schema agrees, else the recorded ones."""

from __future__ import annotations

from openral.errors import ConfigError, RecordingError, UnknownType
from openral.ros.codec.definitions import Definition, parse_msg
from openral.ros.codec.types import Registry, registry

_RULE = "=" * 80


def registry_for(name: str, encoding: str, text: str) -> Registry:
    """The registry to decode a recorded type with, chosen by the schema stored with it."""
    if encoding != "ros2msg" or not text.strip():
        registry.definition(name)
        return registry
    try:
        definitions = parse_schema(name, text)
    except ConfigError as error:
        raise RecordingError(f"cannot read the recorded definition of {name}: {error}") from error
    if all(_agrees(definition) for definition in definitions):
        return registry
    own = Registry(standard=False)
    for definition in definitions:
        own.add_definition(definition)
    return own


def parse_schema(name: str, text: str) -> list[Definition]:
    """All definitions of a `ros2msg` schema, the type itself first."""
    lines, names = [list[str]()], [name]
    for line in text.splitlines():
        if line.startswith(_RULE):
            lines.append([])
        elif len(lines) > len(names) and line.startswith("MSG: "):
            names.append(_full(line.removeprefix("MSG: ").strip()))
        else:
            lines[-1].append(line)
    return [parse_msg(n, "\n".join(body)) for n, body in zip(names, lines, strict=False)]


def _full(name: str) -> str:
    return name if name.count("/") > 1 else name.replace("/", "/msg/")


def _agrees(definition: Definition) -> bool:
    try:
        ours = registry.definition(definition.name)
    except UnknownType:
        return False
    return _wire(ours) == _wire(definition)


def _wire(definition: Definition) -> list[tuple[object, ...]]:
    return [(f.name, f.type, f.shape, f.size, f.text_bound) for f in definition.members]
