"""Run any robot described by a robot.yaml, every motion proven clear before it is applied."""

import os

__version__ = "0.1.0"

# MuJoCo chooses its renderer when it is first imported; without a display it must be EGL.
if not os.environ.get("DISPLAY"):
    os.environ.setdefault("MUJOCO_GL", "egl")
