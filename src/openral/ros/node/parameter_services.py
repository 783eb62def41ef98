"""The six ROS parameter services of a node and its /parameter_events."""

from __future__ import annotations

from typing import Any, Protocol

from openral.errors import ConfigError
from openral.ros import msg
from openral.ros.node.publisher import Publisher
from openral.ros.node.service import Handler, Service
from openral.ros.parameters.store import (
    Change,
    Descriptor,
    Parameter,
    ParameterStore,
    ParameterType,
    SetResult,
    Value,
    type_of,
)
from openral.ros.qos import PARAMETER_EVENTS, QoS

_FIELDS = {
    ParameterType.BOOL: "bool_value",
    ParameterType.INTEGER: "integer_value",
    ParameterType.DOUBLE: "double_value",
    ParameterType.STRING: "string_value",
    ParameterType.BYTE_ARRAY: "byte_array_value",
    ParameterType.BOOL_ARRAY: "bool_array_value",
    ParameterType.INTEGER_ARRAY: "integer_array_value",
    ParameterType.DOUBLE_ARRAY: "double_array_value",
    ParameterType.STRING_ARRAY: "string_array_value",
}
_PACKAGE = "rcl_interfaces"


def value_to_msg(value: Value) -> msg.ParameterValue:
    """The value as rcl_interfaces/msg/ParameterValue."""
    kind = type_of(value)
    fields: dict[str, Any] = {_FIELDS[kind]: value} if kind in _FIELDS else {}
    return msg.ParameterValue(type=int(kind), **fields)


def value_from_msg(message: Any) -> Value:
    """The Python value of a ParameterValue; ConfigError for a type that ROS does not define."""
    if message.type == ParameterType.NOT_SET:
        return None
    try:
        value = getattr(message, _FIELDS[ParameterType(message.type)])
    except ValueError:
        raise ConfigError(f"parameter type {message.type} is not valid; 0 to 9") from None
    if message.type == ParameterType.BYTE_ARRAY:
        return bytes(value)
    return value.tolist() if hasattr(value, "tolist") else value  # type: ignore[no-any-return]


def parameter_to_msg(parameter: Parameter) -> msg.Parameter:
    """The parameter as rcl_interfaces/msg/Parameter."""
    return msg.Parameter(name=parameter.name, value=value_to_msg(parameter.value))


class ParameterHost(Protocol):
    """What the services need of their node."""

    full_name: str

    def create_publisher(self, msg_type: str, topic: str, qos: QoS) -> Publisher:
        """See `Node`."""

    def create_service(self, srv_type: str, name: str, handler: Handler) -> Service:
        """See `Node`."""

    def stamp(self) -> msg.Time:
        """The graph's time now."""


class ParameterServices:
    """Serves a node's parameters to the graph."""

    def __init__(self, node: ParameterHost, store: ParameterStore) -> None:
        self._node = node
        self._store = store
        self._events = node.create_publisher(
            f"{_PACKAGE}/msg/ParameterEvent", "/parameter_events", PARAMETER_EVENTS
        )
        handlers = {
            "describe_parameters": ("DescribeParameters", self._describe),
            "get_parameters": ("GetParameters", self._get),
            "get_parameter_types": ("GetParameterTypes", self._get_types),
            "list_parameters": ("ListParameters", self._list),
            "set_parameters": ("SetParameters", self._set),
            "set_parameters_atomically": ("SetParametersAtomically", self._set_atomically),
        }
        for name, (kind, handler) in handlers.items():
            node.create_service(f"{_PACKAGE}/srv/{kind}", f"~/{name}", handler)
        store.add_listener(self._announce)

    def _announce(self, change: Change) -> None:
        self._events.publish(
            lambda: msg.ParameterEvent(
                stamp=self._node.stamp(),
                node=self._node.full_name,
                new_parameters=[parameter_to_msg(p) for p in change.new],
                changed_parameters=[parameter_to_msg(p) for p in change.changed],
                deleted_parameters=[parameter_to_msg(p) for p in change.deleted],
            )
        )

    def _get(self, request: Any, response: Any) -> Any:
        response.values = [
            value_to_msg(self._store.get(name) if self._store.has(name) else None)
            for name in request.names
        ]
        return response

    def _get_types(self, request: Any, response: Any) -> Any:
        found = [
            int(type_of(self._store.get(name))) if self._store.has(name) else 0
            for name in request.names
        ]
        return type(response)(types=found)

    def _describe(self, request: Any, response: Any) -> Any:
        response.descriptors = [
            self._descriptor(name) for name in request.names if self._store.has(name)
        ]
        return response

    def _descriptor(self, name: str) -> msg.ParameterDescriptor:
        descriptor, kind = self._store.describe(name), self._store.declared_type(name)
        fields: dict[str, Any] = {}
        if descriptor.minimum is not None or descriptor.maximum is not None:
            fields = _range(descriptor, kind)
        return msg.ParameterDescriptor(
            name=name,
            type=int(kind),
            description=descriptor.description,
            additional_constraints=", ".join(descriptor.choices),
            read_only=descriptor.read_only,
            dynamic_typing=descriptor.dynamic_typing,
            **fields,
        )

    def _list(self, request: Any, response: Any) -> Any:
        found, prefixes = self._store.listed(request.prefixes, request.depth)
        response.result = msg.ListParametersResult(names=found, prefixes=prefixes)
        return response

    def _set(self, request: Any, response: Any) -> Any:
        results = []
        for item in request.parameters:
            try:
                wanted = Parameter(item.name, value_from_msg(item.value))
                results.append(_result(self._store.set_all([wanted])))
            except ConfigError as error:
                results.append(_refusal(str(error)))
        response.results = results
        return response

    def _set_atomically(self, request: Any, response: Any) -> Any:
        try:
            wanted = [Parameter(p.name, value_from_msg(p.value)) for p in request.parameters]
            response.result = _result(self._store.set_all(wanted))
        except ConfigError as error:
            response.result = _refusal(str(error))
        return response


def _result(result: SetResult) -> msg.SetParametersResult:
    return msg.SetParametersResult(successful=result.successful, reason=result.reason)


def _refusal(reason: str) -> msg.SetParametersResult:
    return msg.SetParametersResult(successful=False, reason=reason)


def _range(descriptor: Descriptor, kind: ParameterType) -> dict[str, Any]:
    integers = kind in (ParameterType.INTEGER, ParameterType.INTEGER_ARRAY)
    low = descriptor.minimum if descriptor.minimum is not None else -(2.0**53)
    high = descriptor.maximum if descriptor.maximum is not None else 2.0**53
    if integers:
        return {"integer_range": [msg.IntegerRange(from_value=int(low), to_value=int(high))]}
    between = msg.FloatingPointRange(from_value=float(low), to_value=float(high))
    return {"floating_point_range": [between]}
