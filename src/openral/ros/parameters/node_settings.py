"""NodeSettings: a node's parameters as one documented class, fixed once the node has started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from openral.errors import ConfigError
from openral.ros.parameters.node_parameters import NodeParameters
from openral.ros.parameters.store import Descriptor

Ranges = Mapping[str, tuple[float, float]]
Choices = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class NodeSettings:
    """Subclasses are dataclasses with a default for every field."""

    RANGES: ClassVar[Ranges] = {}
    """(minimum, maximum) of numeric parameters."""
    CHOICES: ClassVar[Choices] = {}
    """Valid values of string parameters."""

    robot_yaml: str = ""
    """Id, folder or file of the robot manifest."""

    @classmethod
    def names(cls) -> list[str]:
        """All parameter names, in declaration order."""
        return list(vars(cls()))

    @classmethod
    def declared(cls, node: NodeParameters) -> Self:
        """Declares all parameters on a node, read-only, and returns their values."""
        values = {}
        for name, default in vars(cls()).items():
            low, high = cls.RANGES.get(name, (None, None))
            chosen = cls.CHOICES.get(name, ())
            descriptor = Descriptor(read_only=True, minimum=low, maximum=high, choices=chosen)
            values[name] = node.declare_parameter(name, default, descriptor).value
        return cls(**values)  # type: ignore[arg-type]

    def check(self) -> None:
        """Raises ConfigError for missing or incompatible values."""
        if not self.robot_yaml:
            raise ConfigError("parameter 'robot_yaml' is empty: it names the robot's manifest")
