"""The safety kernel's Python face: every motion passes here before it is applied."""

from openral.safety.kernel import Gate, Kernel, Verdict
from openral.safety.obstacles import Box, Capsule, Obstacle, Sphere, VoxelGrid

__all__ = ["Box", "Capsule", "Gate", "Kernel", "Obstacle", "Sphere", "Verdict", "VoxelGrid"]
