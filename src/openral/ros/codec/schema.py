"""Type definitions as text, stored in recordings so that other tools can decode them."""

from __future__ import annotations

from openral.ros.codec.definitions import Definition, Field, Shape, Value
from openral.ros.codec.types import registry

_RULE = "=" * 80


def schema_text(name: str) -> str:
    """The type's .msg text, then those of all nested types (MCAP's `ros2msg` encoding)."""
    order = [name]
    for known in order:
        inner = (field.type for field in registry.definition(known).fields if field.nested)
        order += [kind for kind in dict.fromkeys(inner) if kind not in order]
    own, *others = (message_text(registry.definition(kind)) for kind in order)
    parts = (f"{_RULE}\nMSG: {_short(k)}\n{t}" for k, t in zip(order[1:], others, strict=True))
    return "\n".join([own, *parts])


def message_text(definition: Definition) -> str:
    """The text of one .msg file: the original where available, else regenerated."""
    if definition.text is not None:
        return definition.text
    constants = [f"{kind} {name}={_literal(value)}" for name, kind, value in definition.constants]
    return "\n".join([*constants, *(_line(field) for field in definition.fields)]) + "\n"


def _line(field: Field) -> str:
    kind = _short(field.type) if field.nested else field.type
    if field.text_bound:
        kind += f"<={field.text_bound}"
    if field.shape is not Shape.ONE:
        bound = "<=" if field.shape is Shape.SEQUENCE and field.size else ""
        kind += f"[{bound}{field.size or ''}]"
    default = "" if field.default is None else f" {_literal(field.default)}"
    return f"{kind} {field.name}{default}"


def _literal(value: Value) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_literal(item) for item in value)}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _short(name: str) -> str:
    return name.replace("/msg/", "/")
