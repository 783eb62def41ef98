"""ParameterStore: a node's typed parameters with descriptors and atomic updates."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from openral.errors import ConfigError, choices

Value = bool | int | float | str | bytes | list[bool] | list[int] | list[float] | list[str] | None


class ParameterType(IntEnum):
    """Type ids of rcl_interfaces/msg/ParameterType."""

    NOT_SET = 0
    BOOL = 1
    INTEGER = 2
    DOUBLE = 3
    STRING = 4
    BYTE_ARRAY = 5
    BOOL_ARRAY = 6
    INTEGER_ARRAY = 7
    DOUBLE_ARRAY = 8
    STRING_ARRAY = 9


_SCALARS: Mapping[type, ParameterType] = {
    bool: ParameterType.BOOL,
    int: ParameterType.INTEGER,
    float: ParameterType.DOUBLE,
    str: ParameterType.STRING,
    bytes: ParameterType.BYTE_ARRAY,
}
_ARRAY_OFFSET = ParameterType.BOOL_ARRAY - ParameterType.BOOL
_INT64 = range(-(2**63), 2**63)


def type_of(value: Value) -> ParameterType:
    """The parameter type of a Python value; ConfigError if there is none."""
    if value is None:
        return ParameterType.NOT_SET
    if type(value) in _SCALARS:
        return _checked_range(value, _SCALARS[type(value)])
    if isinstance(value, list | tuple) and value:
        inner = {type(item) for item in value}
        if inner == {int, float}:
            inner = {float}
        if len(inner) == 1 and next(iter(inner)) in (bool, int, float, str):
            kind = _SCALARS[inner.pop()]
            for item in value:
                _checked_range(item, kind)
            return ParameterType(kind + _ARRAY_OFFSET)
    if isinstance(value, list | tuple) and not value:
        return ParameterType.STRING_ARRAY
    raise ConfigError(
        f"{value!r} cannot be a parameter; "
        "valid: bool, int, float, str, bytes and lists of one kind"
    )


def _checked_range(value: Any, kind: ParameterType) -> ParameterType:
    if kind is ParameterType.INTEGER and value not in _INT64:
        raise ConfigError(f"{value} cannot be a parameter; integers have 64 bits")
    return kind


def coerced(value: Value, kind: ParameterType) -> Value:
    """Converts losslessly to `kind`: ints to doubles (also in arrays), tuples to lists."""
    if kind is ParameterType.DOUBLE and type(value) is int:
        return float(value)
    if isinstance(value, list | tuple):
        if kind is ParameterType.DOUBLE_ARRAY:
            return [float(item) if type(item) is int else item for item in value]  # type: ignore[return-value]
        return list(value)  # type: ignore[return-value]
    return value


@dataclass(frozen=True)
class Descriptor:
    """Description and constraints of a parameter."""

    description: str = ""
    read_only: bool = False
    dynamic_typing: bool = False
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parameter:
    """A name and a value; None means not set."""

    name: str
    value: Value

    @property
    def type_(self) -> ParameterType:
        """The value's type."""
        return type_of(self.value)


@dataclass(frozen=True)
class SetResult:
    """Whether a change was accepted, and if not, why."""

    successful: bool
    reason: str = ""


Validator = Callable[[Sequence[Parameter]], SetResult]


@dataclass
class Change:
    """Parameters that were declared, changed or removed, as passed to listeners."""

    new: list[Parameter] = field(default_factory=list)
    changed: list[Parameter] = field(default_factory=list)
    deleted: list[Parameter] = field(default_factory=list)


class ParameterStore:
    """All parameters of a node. A set of changes is applied entirely or not at all."""

    def __init__(self, overrides: Mapping[str, Value] | None = None) -> None:
        self._overrides = dict(overrides or {})
        self._values: dict[str, Value] = {}
        self._types: dict[str, ParameterType] = {}
        self._descriptors: dict[str, Descriptor] = {}
        self._validators: list[Validator] = []
        self._listeners: list[Callable[[Change], None]] = []
        self._lock = threading.RLock()

    def declare(self, name: str, value: Value, descriptor: Descriptor | None = None) -> Value:
        """Adds a parameter and returns its value; an override of the node wins over `value`."""
        with self._lock:
            if not name or name in self._values:
                raise ConfigError(f"parameter '{name}' is already declared or has no name")
            kind = type_of(value)
            value = coerced(value, kind)
            given = coerced(self._overrides.get(name, value), kind)
            self._descriptors[name] = descriptor or Descriptor()
            self._types[name] = type_of(given) if kind is ParameterType.NOT_SET else kind
            fault = self._fault(Parameter(name, given), declaring=True)
            if fault:
                del self._descriptors[name], self._types[name]
                raise ConfigError(fault)
            self._values[name] = given
        self._tell(Change(new=[Parameter(name, given)]))
        return given

    def undeclare(self, name: str) -> None:
        """Removes a parameter."""
        with self._lock:
            value = self.get(name)
            if self._descriptors[name].read_only:
                raise ConfigError(f"parameter '{name}' is read-only")
            for table in (self._values, self._types, self._descriptors):
                table.pop(name)
        self._tell(Change(deleted=[Parameter(name, value)]))

    def has(self, name: str) -> bool:
        """Whether the parameter is declared."""
        return name in self._values

    def get(self, name: str) -> Value:
        """The value; ConfigError with the known names if there is no such parameter."""
        try:
            return self._values[name]
        except KeyError:
            raise ConfigError(f"no parameter '{name}'; {choices(name, self.names())}") from None

    def describe(self, name: str) -> Descriptor:
        """The descriptor; ConfigError if there is no such parameter."""
        self.get(name)
        return self._descriptors[name]

    def declared_type(self, name: str) -> ParameterType:
        """The declared type; ConfigError if there is no such parameter."""
        self.get(name)
        return self._types[name]

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._values)

    def listed(self, prefixes: Iterable[str], depth: int) -> tuple[list[str], list[str]]:
        """Names and prefixes as `ListParameters` defines them; depth 0 is unlimited."""
        wanted = list(prefixes)
        found = []
        for name in self.names():
            if not wanted:
                if depth == 0 or name.count(".") < depth:
                    found.append(name)
                continue
            for prefix in wanted:
                rest = name.removeprefix(f"{prefix}.")
                if name == prefix or (rest != name and (depth == 0 or rest.count(".") < depth)):
                    found.append(name)
                    break
        return found, sorted({name.rpartition(".")[0] for name in found if "." in name})

    def set_each(self, parameters: Sequence[Parameter]) -> list[SetResult]:
        """Applies every change independently; one refusal does not affect the others."""
        return [self.set_all([parameter]) for parameter in parameters]

    def set_all(self, parameters: Sequence[Parameter]) -> SetResult:
        """Applies all changes, or none and returns the reason."""
        with self._lock:
            try:
                wanted = [
                    Parameter(p.name, coerced(p.value, self.declared_type(p.name)))
                    for p in parameters
                ]
                fault = next(filter(None, (self._fault(p) for p in wanted)), None)
            except ConfigError as error:
                fault = str(error)
            if fault:
                return SetResult(False, fault)
            for validate in self._validators:
                result = validate(wanted)
                if not result.successful:
                    return result
            for parameter in wanted:
                self._values[parameter.name] = parameter.value
                if self._descriptors[parameter.name].dynamic_typing:
                    self._types[parameter.name] = parameter.type_
        self._tell(Change(changed=wanted))
        return SetResult(True)

    def put(self, name: str, value: Value) -> None:
        """Sets a parameter for the node itself, even one that is read-only to others."""
        with self._lock:
            if fault := self._fault(Parameter(name, value), declaring=True):
                raise ConfigError(fault)
            self._values[name] = value
        self._tell(Change(changed=[Parameter(name, value)]))

    def _fault(self, parameter: Parameter, declaring: bool = False) -> str | None:
        name, value = parameter.name, parameter.value
        descriptor, kind = self._descriptors[name], self._types[name]
        if descriptor.read_only and not declaring:
            return f"parameter '{name}' is read-only"
        if not descriptor.dynamic_typing and parameter.type_ is not kind:
            got = parameter.type_.name.lower()
            return f"parameter '{name}' is of type {kind.name.lower()}; {value!r} is {got}"
        low, high = descriptor.minimum, descriptor.maximum
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, int | float) and not (
                (low is None or item >= low) and (high is None or item <= high)
            ):
                return f"parameter '{name}' is {item}; valid: {low} to {high}"
        if descriptor.choices and value not in descriptor.choices:
            return f"parameter '{name}' is {value!r}; {choices(str(value), descriptor.choices)}"
        return None

    def add_validator(self, validate: Validator) -> None:
        """Adds a validator that runs before every change and may refuse it."""
        self._validators.append(validate)

    def add_listener(self, listen: Callable[[Change], None]) -> None:
        """Adds a listener that is called after every change."""
        self._listeners.append(listen)

    def _tell(self, change: Change) -> None:
        for listen in list(self._listeners):
            listen(change)
