"""Cameras, depth and lidars of a MuJoCo model."""
