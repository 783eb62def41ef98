"""Simulation: scenes and rollouts, twins made from manifests, model import, checks and renders."""
