"""Deployment: plans, starts and supervises the processes of a robot's graph."""
