"""Cameras, depth, clouds and scans on the bus, each at its own rate."""
