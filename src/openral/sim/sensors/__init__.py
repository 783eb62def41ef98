"""Cameras, depth cameras and lidars of a MuJoCo model."""
