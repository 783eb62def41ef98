"""Chooses MuJoCo's renderer before any test imports MuJoCo by itself."""

import openral.sim  # noqa: F401
