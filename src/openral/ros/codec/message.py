"""Python classes for ROS messages: dataclasses with slots, ROS's defaults and numpy arrays."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from openral.errors import InvalidMessage, choices
from openral.ros.codec import values
from openral.ros.codec.definitions import Definition, Field, Shape

Resolve = Callable[[str], "type[Message]"]


class Message:
    """Base of all message classes. Fields are attributes; unknown fields are rejected."""

    __slots__ = ()
    __ros_type__: ClassVar[str]
    __definition__: ClassVar[Definition]
    __rebuild__: ClassVar[Callable[[str, tuple[Any, ...]], Message]]
    """How a copy or another process makes one again; set by the registry that made the class."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        pairs = ((getattr(self, n), getattr(other, n)) for n in _field_names(self))
        return all(_same(mine, theirs) for mine, theirs in pairs)

    __hash__ = None  # type: ignore[assignment] # messages are mutable

    def __reduce__(self) -> tuple[Any, ...]:
        fields = tuple(getattr(self, n) for n in _field_names(self))
        return type(self).__rebuild__, (self.__ros_type__, fields)

    @classmethod
    def get_fields_and_field_types(cls) -> dict[str, str]:
        """Field names and their ROS types, as in rclpy: `{"name": "sequence<string>"}`."""
        return {f.attribute: describe(f) for f in cls.__definition__.members}


def _field_names(message: Message) -> tuple[str, ...]:
    return tuple(field.attribute for field in message.__definition__.members)


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, np.ndarray) or isinstance(theirs, np.ndarray):
        return bool(np.array_equal(mine, theirs))
    return bool(mine == theirs)


def describe(field: Field) -> str:
    """The field's type in rclpy's notation."""
    kind = field.type.replace("/msg/", "/")
    if field.type == "string" and field.text_bound:
        kind = f"string<{field.text_bound}>"
    if field.shape is Shape.ARRAY:
        return f"{kind}[{field.size}]"
    if field.shape is Shape.SEQUENCE:
        return f"sequence<{kind}, {field.size}>" if field.size else f"sequence<{kind}>"
    return kind


def build_class(definition: Definition, resolve: Resolve) -> type[Message]:
    """Builds the class of a message type; `resolve` returns the class of a nested type by name."""
    short = definition.name.rsplit("/", 1)[1]
    scope: dict[str, Any] = {"Message": Message, "v": values}
    parameters, body = ["self"], []
    for index, field in enumerate(definition.members):
        name = field.attribute
        if field.nested:
            scope[f"T{index}"] = resolve(field.type)
        default, value = _initial(field, f"T{index}", scope)
        parameters.append(f"{name}={default}")
        body.append(f"        self.{name} = {value}")
    lines = [
        f"class {short}(Message):",
        f"    {definition.name!r}",
        *(f"    {field.attribute}: {describe(field)!r}" for field in definition.members),
        f"    def __init__({', '.join(parameters)}):",
        *body,
    ]
    exec("\n".join(lines), scope)
    decorate = dataclasses.dataclass(init=False, eq=False, slots=True)
    cls: type[Message] = decorate(scope[short])
    cls.__module__ = "openral.ros.codec.types"
    cls.__ros_type__ = definition.name
    cls.__definition__ = definition
    for constant, _, fixed in definition.constants:
        setattr(cls, constant, fixed)
    cls.__init__ = _guarded(cls.__init__, cls)  # type: ignore[method-assign]
    return cls


def _initial(field: Field, nested: str, scope: dict[str, Any]) -> tuple[str, str]:
    """The constructor parameter's default, and the expression assigned to the attribute."""
    name = field.attribute
    if field.shape is Shape.ONE:
        if field.nested:
            return "None", f"{nested}() if {name} is None else {name}"
        return repr(_scalar_default(field)), name
    scope[f"default_{name}"] = _many_default(field, scope.get(nested))
    given = {
        (Shape.ARRAY, True): f"v.as_fixed_array({name}, {field.type!r}, {field.size})",
        (Shape.ARRAY, False): f"v.as_fixed_list({name}, {field.size})",
        (Shape.SEQUENCE, True): f"v.as_array({name}, {field.type!r})",
        (Shape.SEQUENCE, False): f"v.as_list({name})",
    }[field.shape, field.type in values.DTYPES]
    return "None", f"default_{name}() if {name} is None else {given}"


def _scalar_default(field: Field) -> Any:
    if field.default is not None:
        return float(field.default) if field.type.startswith("float") else field.default  # type: ignore[arg-type]
    if field.type == "string":
        return ""
    return False if field.type == "bool" else 0.0 if field.type.startswith("float") else 0


def _many_default(field: Field, nested: type[Message] | None) -> Callable[[], Any]:
    default, count = field.default, field.size if field.shape is Shape.ARRAY else 0
    if field.type in values.DTYPES:
        if default is not None:
            return lambda: np.array(default, values.DTYPES[field.type])
        if count:
            return lambda: np.zeros(count, values.DTYPES[field.type])
        return lambda: values.EMPTY[field.type]
    if default is not None:
        return lambda: list(default)  # type: ignore[arg-type]
    return lambda: [nested() if nested else "" for _ in range(count)]


def _guarded(init: Callable[..., None], cls: type[Message]) -> Callable[..., None]:
    """Wraps the constructor so that its errors name the type and the valid fields."""

    @functools.wraps(init)
    def guarded(self: Message, *args: Any, **kwargs: Any) -> None:
        try:
            init(self, *args, **kwargs)
        except TypeError as error:
            for unknown in kwargs.keys() - set(cls.__slots__):
                hint = choices(unknown, cls.__slots__, "fields")
                raise InvalidMessage(
                    f"{cls.__ros_type__} has no field '{unknown}'; {hint}"
                ) from None
            raise InvalidMessage(f"{cls.__ros_type__}: {error}") from error
        except InvalidMessage as error:
            raise InvalidMessage(f"{cls.__ros_type__}: {error}") from None

    return guarded
