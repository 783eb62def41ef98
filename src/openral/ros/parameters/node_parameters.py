"""NodeParameters: the parameter methods of `Node`."""

from __future__ import annotations

from collections.abc import Sequence

from openral.ros.parameters.store import (
    Descriptor,
    Parameter,
    ParameterStore,
    SetResult,
    Validator,
    Value,
)


class NodeParameters:
    """Mixin of `Node`."""

    _parameters: ParameterStore

    def declare_parameter(
        self, name: str, value: Value = None, descriptor: Descriptor | None = None
    ) -> Parameter:
        """Adds a parameter; it keeps the type of `value`."""
        return Parameter(name, self._parameters.declare(name, value, descriptor))

    def undeclare_parameter(self, name: str) -> None:
        """Removes a parameter."""
        self._parameters.undeclare(name)

    def has_parameter(self, name: str) -> bool:
        """Whether a parameter is declared."""
        return self._parameters.has(name)

    def get_parameter(self, name: str) -> Parameter:
        """The parameter with its value."""
        return Parameter(name, self._parameters.get(name))

    def set_parameters(self, parameters: Sequence[Parameter]) -> list[SetResult]:
        """Sets each parameter independently; one result per parameter."""
        return self._parameters.set_each(parameters)

    def set_parameters_atomically(self, parameters: Sequence[Parameter]) -> SetResult:
        """Sets all parameters or none."""
        return self._parameters.set_all(parameters)

    def tell_parameter(self, name: str, value: Value) -> None:
        """Sets a parameter from inside the node, even one that is read-only to others."""
        self._parameters.put(name, value)

    def add_on_set_parameters_callback(self, validate: Validator) -> None:
        """Adds a validator that runs before every change and may refuse it with a reason."""
        self._parameters.add_validator(validate)
