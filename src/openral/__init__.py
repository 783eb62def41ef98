"""Run any robot that one robot.yaml describes, every motion proven clear before it is applied."""

import os

__version__ = "0.1.0"

# MuJoCo picks its renderer when it is first imported; without a display that must be EGL.
if not os.environ.get("DISPLAY"):
    os.environ.setdefault("MUJOCO_GL", "egl")
