"""Imports an MJCF or URDF model as a robot manifest."""
