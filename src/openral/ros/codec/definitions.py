"""ROS type definitions: fields and constants, parsed from .msg, .srv and .action text.

Services and actions are expanded here to the messages that cross the wire, as rosidl does.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from rosbags.interfaces import Nodetype
from rosbags.interfaces.typing import FieldDesc
from rosbags.typesys.base import BaseType, Cardinality, TypesysError
from rosbags.typesys.base import Field as ParsedField
from rosbags.typesys.msg import MSGParser

from openral.errors import ConfigError

Scalar = bool | int | float | str
Value = Scalar | list[Scalar]

# rosidl gives an empty struct one byte, because C and IDL have no empty structs.
PLACEHOLDER = "structure_needs_at_least_one_member"


class Shape(Enum):
    """Whether a field is a single value, a fixed-size array or a sequence."""

    ONE = "one"
    ARRAY = "array"
    SEQUENCE = "sequence"


@dataclass(frozen=True)
class Field:
    """One member of a message."""

    name: str
    type: str
    """A primitive such as `float64` or `string`, or the ROS name of a message."""
    shape: Shape = Shape.ONE
    size: int = 0
    """Length of an array, or bound of a sequence (0: unbounded)."""
    text_bound: int = 0
    """Maximum characters of a bounded string (0: unbounded)."""
    default: Value | None = None

    @property
    def nested(self) -> bool:
        """Whether the values are nested messages."""
        return "/" in self.type

    @property
    def attribute(self) -> str:
        """The name in Python: keywords get a trailing underscore."""
        return f"{self.name}_" if keyword.iskeyword(self.name) else self.name


@dataclass(frozen=True)
class Definition:
    """A message type: its ROS name, fields in wire order, constants and the text it came from."""

    name: str
    fields: tuple[Field, ...]
    constants: tuple[tuple[str, str, Scalar], ...] = ()
    """(name, primitive, value)"""
    text: str | None = None

    @property
    def members(self) -> tuple[Field, ...]:
        """The fields on the wire: an empty message has a one-byte placeholder."""
        return self.fields or (Field(PLACEHOLDER, "uint8"),)


def split_name(name: str) -> tuple[str, str, str]:
    """`sensor_msgs/msg/Image` → package, kind, short name."""
    parts = name.split("/")
    if len(parts) != 3 or not all(parts):
        raise ConfigError(f"'{name}' is no ROS type name; expected package/msg/Name")
    return parts[0], parts[1], parts[2]


def dds_type_name(name: str) -> str:
    """The type's name on DDS: `sensor_msgs/msg/Image` → `sensor_msgs::msg::dds_::Image_`."""
    package, kind, short = split_name(name)
    return f"{package}::{kind}::dds_::{short}_"


def ros_type_name(dds_name: str) -> str | None:
    """The inverse of `dds_type_name`; None for a type that is not a ROS type."""
    parts = dds_name.split("::")
    if len(parts) != 4 or parts[2] != "dds_" or not parts[3].endswith("_"):
        return None
    return f"{parts[0]}/{parts[1]}/{parts[3][:-1]}"


def parse_msg(name: str, text: str) -> Definition:
    """Parses the text of one .msg file."""
    package, _, short = split_name(name)
    # The parser only accepts names in msg/: type references in services resolve as in rosidl.
    header = f"MSG: {package}/msg/{short}\n"
    try:
        parsed = MSGParser(header + text.strip() + "\n").specification()[0]
    except TypesysError as error:
        raise ConfigError(f"cannot parse {name}: {error}") from error
    constants = tuple((c.name, c.typ.value, c.value) for c in parsed.constants)
    return Definition(name, tuple(_parsed_field(f) for f in parsed.fields), constants, text)


def _parsed_field(parsed: ParsedField) -> Field:
    typ = parsed.typ
    shape = {
        Cardinality.SCALAR: Shape.ONE,
        Cardinality.ARRAY: Shape.ARRAY,
        Cardinality.SEQUENCE: Shape.SEQUENCE,
    }[typ.cardinality]
    kind = typ.ref.name.value if isinstance(typ.ref, BaseType) else typ.ref.name
    return Field(parsed.name, kind, shape, typ.size, typ.str_size, parsed.value)


def from_store(
    name: str, constants: Sequence[tuple[str, str, Scalar]], fields: Sequence[tuple[str, FieldDesc]]
) -> Definition:
    """Converts a definition of a rosbags type store."""
    members = tuple(_store_field(n, d) for n, d in fields if n != PLACEHOLDER)
    return Definition(name, members, tuple(constants))


def _store_field(name: str, desc: FieldDesc) -> Field:
    if desc[0] == Nodetype.NAME:
        return Field(name, desc[1])
    if desc[0] == Nodetype.BASE:
        return Field(name, desc[1][0], text_bound=desc[1][1])
    inner, size = desc[1]
    shape = Shape.ARRAY if desc[0] == Nodetype.ARRAY else Shape.SEQUENCE
    return replace(_store_field(name, inner), shape=shape, size=size)


def _sections(name: str, text: str, count: int) -> list[str]:
    sections: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip() == "---":
            sections.append([])
        else:
            sections[-1].append(line)
    if len(sections) != count:
        raise ConfigError(f"{name} has {len(sections)} parts split by '---'; expected {count}")
    return ["\n".join(lines) for lines in sections]


def parse_srv(name: str, text: str) -> list[Definition]:
    """Parses a .srv file: request, response, event, and the service itself for its hash."""
    request, response = _sections(name, text, 2)
    return service_types(
        parse_msg(f"{name}_Request", request), parse_msg(f"{name}_Response", response)
    )


def service_types(request: Definition, response: Definition) -> list[Definition]:
    """All types of the service that has this request and response."""
    name = request.name.removesuffix("_Request")
    event = Definition(
        f"{name}_Event",
        (
            Field("info", "service_msgs/msg/ServiceEventInfo"),
            Field("request", request.name, Shape.SEQUENCE, 1),
            Field("response", response.name, Shape.SEQUENCE, 1),
        ),
    )
    service = Definition(
        name,
        (
            Field("request_message", request.name),
            Field("response_message", response.name),
            Field("event_message", event.name),
        ),
    )
    return [request, response, event, service]


def parse_action(name: str, text: str) -> list[Definition]:
    """Parses an .action file: goal, result, feedback, two services and the feedback message."""
    parts = zip(("Goal", "Result", "Feedback"), _sections(name, text, 3), strict=True)
    goal, result, feedback = (parse_msg(f"{name}_{part}", body) for part, body in parts)
    goal_id = Field("goal_id", "unique_identifier_msgs/msg/UUID")
    send_goal = service_types(
        Definition(f"{name}_SendGoal_Request", (goal_id, Field("goal", goal.name))),
        Definition(
            f"{name}_SendGoal_Response",
            (Field("accepted", "bool"), Field("stamp", "builtin_interfaces/msg/Time")),
        ),
    )
    get_result = service_types(
        Definition(f"{name}_GetResult_Request", (goal_id,)),
        Definition(
            f"{name}_GetResult_Response",
            (Field("status", "int8"), Field("result", result.name)),
        ),
    )
    message = Definition(f"{name}_FeedbackMessage", (goal_id, Field("feedback", feedback.name)))
    action = Definition(
        name,
        (
            Field("goal", goal.name),
            Field("result", result.name),
            Field("feedback", feedback.name),
            Field("send_goal_service", f"{name}_SendGoal"),
            Field("get_result_service", f"{name}_GetResult"),
            Field("feedback_message", message.name),
        ),
    )
    return [goal, result, feedback, *send_goal, *get_result, message, action]
