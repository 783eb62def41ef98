"""Normalisation between raw values and those of a policy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openral.manifest.skill import Normalisation, NormalisationKind

Vector = NDArray[np.float64]


def to_policy(scaling: Normalisation, raw: Vector) -> Vector:
    """(raw - offset) / scale, by column."""
    if scaling.kind is NormalisationKind.NONE:
        return raw
    return np.asarray((raw - np.array(scaling.offset)) / np.array(scaling.scale))


def from_policy(scaling: Normalisation, scaled: Vector) -> Vector:
    """The reverse of `to_policy`."""
    if scaling.kind is NormalisationKind.NONE:
        return scaled
    return np.asarray(scaled * np.array(scaling.scale) + np.array(scaling.offset))
