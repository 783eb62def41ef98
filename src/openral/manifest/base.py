"""Common base of all manifest models: strict validation, vectors, poses and names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field

Vec3 = tuple[float, float, float]
Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=64)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Location = tuple[str | int, ...]


class Model(BaseModel):
    """Base of every manifest model: no unknown keys, no NaN, no infinities, immutable."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with updated fields; values cached from the old ones are dropped."""
        copied = super().model_copy(update=update, deep=deep)
        for name in set(copied.__dict__) - set(type(self).model_fields):
            del copied.__dict__[name]
        return copied


class Transform(Model):
    """Where a frame sits in its parent, like URDF's origin."""

    xyz: Vec3 = (0.0, 0.0, 0.0)
    """Translation in metres."""
    rpy: Vec3 = (0.0, 0.0, 0.0)
    """Roll, pitch and yaw about the fixed x, y and z axes, in radians."""


class CrossCheckError(ValueError):
    """Problems between fields that are valid by themselves: (location, message) pairs."""

    def __init__(self, problems: list[tuple[Location, str]]) -> None:
        self.problems = problems
        super().__init__("; ".join(message for _, message in problems))
