"""Simulation: twins made from manifests, model sources, import, checks and pictures."""
