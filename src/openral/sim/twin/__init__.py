"""Twins: MuJoCo models made from manifests, and checks of both."""
