"""Reads and writes manifests as YAML: problems come with their line, output is easy to read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from openral.errors import ManifestError, Problem, choices
from openral.manifest.base import CrossCheckError, Location

T = TypeVar("T", bound=BaseModel)

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LINE = 96
_MAX_BYTES = 8_000_000


def load_yaml(model: type[T], path: Path) -> T:
    """Reads a manifest; raises ManifestError with every problem's line, value and valid choices."""
    return parse_yaml(model, read_manifest(path), path)


def read_manifest(path: Path) -> str:
    """The text of a manifest file; ManifestError if it is unreadable, irregular or too large."""
    try:
        # Opening a FIFO for reading blocks until there is a writer, unless O_NONBLOCK is set.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ManifestError(path, [Problem("not a regular file")])
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise ManifestError(path, [Problem(f"larger than {_MAX_BYTES} bytes")])
        return content.decode("utf-8")
    except FileNotFoundError:
        raise ManifestError(path, [Problem("no such file")]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(path, [Problem(f"cannot be read: {error}")]) from None


def parse_yaml(model: type[T], text: str, source: Path | str) -> T:
    """Like load_yaml for text that is already in memory."""
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            unclear = _ambiguous(node)
            data = loader.construct_document(node) if node and not unclear else {}
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        message = getattr(error, "problem", None) or str(error)
        line = mark.line + 1 if mark else None
        raise ManifestError(source, [Problem(f"not valid YAML: {message}", line=line)]) from None
    except (RecursionError, ValueError, OverflowError) as error:
        raise ManifestError(source, [Problem(f"not valid YAML: {error}")]) from None
    if unclear:
        raise ManifestError(source, unclear)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems = [p for details in error.errors() for p in _problems(details, node, model)]
        raise ManifestError(source, problems) from None


def _ambiguous(node: yaml.Node | None, seen: set[int] | None = None) -> list[Problem]:
    """Duplicate keys and aliases: both obscure a manifest, and aliases can grow exponentially."""
    seen = set() if seen is None else seen
    if node is None:
        return []
    line = node.start_mark.line + 1
    if id(node) in seen:
        return [Problem("aliases (*name) are not supported; write the value out", line=line)]
    seen.add(id(node))
    found = []
    if isinstance(node, yaml.MappingNode):
        names: set[str] = set()
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if name in names:
                found.append(Problem(f"key '{name}' is given twice", line=key.start_mark.line + 1))
            names.add(name)
            found += _ambiguous(value, seen)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            found += _ambiguous(item, seen)
    return found


def _problems(
    details: ErrorDetails, node: yaml.Node | None, model: type[BaseModel]
) -> list[Problem]:
    location = tuple(details["loc"])
    cause = details.get("ctx", {}).get("error")
    if isinstance(cause, CrossCheckError):
        found = [((*location, *at), message) for at, message in cause.problems]
    else:
        found = [(location, _message(details, model))]
    return [Problem(message, _name(at, node), _line(at, node)) for at, message in found]


def _message(details: ErrorDetails, model: type[BaseModel]) -> str:
    value = repr(details["input"])
    value = value if len(value) <= 60 else value[:57] + "..."
    match details["type"]:
        case "extra_forbidden":
            key = str(details["loc"][-1])
            fields = _fields_at(model, details["loc"][:-1])
            return f"unknown key; {choices(key, fields, 'keys')}" if fields else "unknown key"
        case "missing":
            return "is missing"
        case "union_tag_invalid":
            tags = details["ctx"]["expected_tags"]
            return f"{details['ctx']['tag']!r} is not one of {tags}"
        case "enum" | "literal_error" if isinstance(details["input"], str):
            valid = details["ctx"]["expected"].replace(" or ", ", ").replace("'", "").split(", ")
            return f"{value} is not valid; {choices(details['input'], valid)}"
    text = details["msg"].removeprefix("Value error, ")
    return f"{text[0].lower()}{text[1:]}, got {value}"


def _fields_at(model: type[BaseModel], location: Location) -> list[str]:
    """The keys that a mapping at `location` may have, as far as the schema defines them."""
    schema = model.model_json_schema()
    definitions = schema.get("$defs", {})
    node: dict[str, Any] = schema

    def resolve(part: dict[str, Any], tag: object = None) -> dict[str, Any]:
        while "$ref" in part:
            part = definitions[part["$ref"].rsplit("/", 1)[-1]]
        if "discriminator" in part and isinstance(tag, str):
            return resolve({"$ref": part["discriminator"]["mapping"].get(tag, "")}) if tag else part
        options = [option for option in part.get("anyOf", []) if option.get("type") != "null"]
        return resolve(options[0]) if len(options) == 1 else part

    for step in location:
        node = resolve(node, step)
        if isinstance(step, int):
            node = node.get("items", node)
        elif "properties" in node and step in node["properties"]:
            node = node["properties"][step]
        elif isinstance(node.get("additionalProperties"), dict):
            node = node["additionalProperties"]
    return list(resolve(node).get("properties", {}))


def _step(node: yaml.Node | None, key: str | int) -> tuple[yaml.Node | None, int | None]:
    """The node below `key` and its line."""
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        item = node.value[key]
        return item, item.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if getattr(name, "value", None) == str(key):
                return value, name.start_mark.line + 1
    return None, None


def _line(location: Location, node: yaml.Node | None) -> int | None:
    line = node.start_mark.line + 1 if node else None
    for key in location:
        below, at = _step(node, key)
        if below is not None:
            node, line = below, at
    return line


def _name(location: Location, node: yaml.Node | None) -> str:
    """A readable location: list items by their name where they have one, without union tags."""
    out = ""
    for key in location:
        below, _ = _step(node, key)
        if isinstance(key, int):
            label = _step(below, "name")[0] if below is not None else None
            text = getattr(label, "value", None)
            out += f"[{text if isinstance(text, str) else key}]"
        elif below is not None or key == location[-1]:
            out += f".{key}" if out else key
        node = below if below is not None else node
    return out


def dump_yaml(model: BaseModel) -> str:
    """A manifest as YAML: without defaults, short collections on one line."""
    data = model.model_dump(mode="json", exclude_defaults=True)
    return yaml.dump(
        data, Dumper=_Dumper, sort_keys=False, width=_LINE, allow_unicode=True, indent=2
    )


class _Dumper(yaml.SafeDumper):
    """Writes short collections and vectors inline, everything else as blocks."""

    def represent_data(self, data: Any) -> yaml.Node:
        node: yaml.Node = super().represent_data(data)
        if isinstance(node, yaml.CollectionNode):
            node.flow_style = _is_inline(data)
        return node

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def expect_first_flow_sequence_item(self) -> None:
        self._unbroken(super().expect_first_flow_sequence_item)

    def expect_flow_sequence_item(self) -> None:
        self._unbroken(super().expect_flow_sequence_item)

    def _unbroken(self, emit: Callable[[], None]) -> None:
        """Breaks long lists of vectors between vectors, never inside one."""
        width = self.best_width
        if self.flow_level > 1:
            self.best_width = 1 << 20
        emit()
        self.best_width = width


def _is_inline(data: Any) -> bool:
    if isinstance(data, list) and data and all(_is_vector(item) for item in data):
        return True
    depth = _depth(data)
    return depth <= 2 and len(str(data)) <= _LINE and not _has_list_of_maps(data)


def _is_vector(item: Any) -> bool:
    return isinstance(item, list) and bool(item) and all(isinstance(v, float | int) for v in item)


def _has_list_of_maps(data: Any) -> bool:
    values = data.values() if isinstance(data, dict) else data
    return any(isinstance(v, list) and any(isinstance(item, dict) for item in v) for v in values)


def _depth(data: Any) -> int:
    if isinstance(data, dict):
        return 1 + max((_depth(value) for value in data.values()), default=0)
    if isinstance(data, list):
        return max((_depth(value) for value in data), default=0)
    return 0
