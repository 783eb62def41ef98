"""Twins: MuJoCo models made from manifests, their bindings, checks and renders."""
