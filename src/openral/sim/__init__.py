"""Simulation: twins made from manifests, model sources, import, checks and pictures."""

import os

# MuJoCo picks its renderer when it is first imported; without a display that must be EGL.
if not os.environ.get("DISPLAY"):
    os.environ.setdefault("MUJOCO_GL", "egl")
