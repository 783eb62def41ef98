"""All type definitions by ROS name: standard ones from rosbags' tables, others from files.

Files are parsed when one of their types is first requested: a process needs only a few of them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from openral.errors import ConfigError, UnknownType, choices
from openral.ros.codec.definitions import (
    Definition,
    Value,
    from_store,
    parse_action,
    parse_msg,
    parse_srv,
)

# Default values in the standard .msg files, which the type store omits.
_DEFAULTS: dict[tuple[str, str], Value] = {("geometry_msgs/msg/Quaternion", "w"): 1.0}

_PARSERS: dict[str, Callable[[str, str], list[Definition]]] = {
    "msg": lambda name, text: [parse_msg(name, text)],
    "srv": parse_srv,
    "action": parse_action,
}
_SERVICE = ("", "_Request", "_Response", "_Event")
_PARTS = {
    "msg": ("",),
    "srv": _SERVICE,
    "action": (
        *("", "_Goal", "_Result", "_Feedback", "_FeedbackMessage"),
        *(f"_SendGoal{part}" for part in _SERVICE),
        *(f"_GetResult{part}" for part in _SERVICE),
    ),
}


class Catalogue:
    """Definitions, and the interface files that have not been parsed yet."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._definitions: dict[str, Definition] = {}
        self._stored: dict[str, tuple[Any, Any]] = {}
        self._unread: dict[str, tuple[str, Traversable | Path]] = {}

    def add_standard(self) -> None:
        """Adds the types of ROS 2 Jazzy and openral_msgs."""
        tables = files("openral.ros.interfaces") / "jazzy.json"
        self._stored = json.loads(tables.read_text(encoding="utf-8"))
        for package in files("openral.ros.interfaces").iterdir():
            if package.is_dir():
                self.add_package(package, package.name)
        self.add_package(files("openral.msgs"), "openral_msgs")

    def add_package(self, folder: Traversable | Path, package: str) -> None:
        """Adds the .msg, .srv and .action files of an interface package's folder."""
        for kind, parts in _PARTS.items():
            if not (folder / kind).is_dir():
                continue
            for file in (folder / kind).iterdir():
                short, _, suffix = file.name.partition(".")
                if suffix == kind:
                    whole = f"{package}/{kind}/{short}"
                    self._unread.update({f"{whole}{part}": (whole, file) for part in parts})

    def add(self, name: str, text: str) -> None:
        """Adds a type from its interface text; the name's middle part is msg, srv or action."""
        kind = name.split("/")[1] if name.count("/") == 2 else ""
        if kind not in _PARSERS:
            raise ConfigError(
                f"'{name}' names no interface; expected package/{'|'.join(_PARSERS)}/Name"
            )
        for definition in _PARSERS[kind](name, text):
            self.add_definition(definition)

    def add_definition(self, definition: Definition) -> None:
        """Adds one message type; ConfigError if it is already defined with other fields."""
        with self._lock:
            self._read_stored(definition.name)
            known = self._definitions.get(definition.name)
            if known and known.members != definition.members:
                raise ConfigError(f"{definition.name} is already defined with other fields")
            self._definitions[definition.name] = definition

    def names(self) -> set[str]:
        """Every name, including the messages of services and actions."""
        with self._lock:
            return self._definitions.keys() | self._stored.keys() | self._unread.keys()

    def get(self, name: str) -> Definition:
        """The definition of a type; UnknownType, suggesting similar names, if there is none."""
        found = self._definitions.get(name)
        if found is None:
            with self._lock:
                self._read(name)
                found = self._definitions.get(name)
        if found is None:
            raise UnknownType(f"no ROS type '{name}'; {self._hint(name)}")
        return found

    def _read_stored(self, name: str) -> None:
        if name in self._stored:
            constants, fields = self._stored.pop(name)
            definition = from_store(name, [tuple(constant) for constant in constants], fields)
            self._definitions[name] = _with_defaults(definition)

    def _read(self, name: str) -> None:
        self._read_stored(name)
        if name in self._unread:
            whole, file = self._unread[name]
            self.add(whole, file.read_text(encoding="utf-8"))
            self._unread = {n: source for n, source in self._unread.items() if source[0] != whole}

    def _hint(self, name: str) -> str:
        names = sorted(self.names())
        package, _, short = name.partition("/")
        near = [n for n in names if n.rsplit("/", 1)[1] == name.rsplit("/", 1)[-1]]
        near = near or [n for n in names if short and n.startswith(f"{package}/")]
        if near:
            return choices(name, near, "types")
        return choices(package, sorted({n.split("/")[0] for n in names}), "packages")


def _with_defaults(definition: Definition) -> Definition:
    fields = tuple(
        replace(field, default=_DEFAULTS.get((definition.name, field.name)))
        for field in definition.fields
    )
    return replace(definition, fields=fields)
