"""Run any robot that one robot.yaml describes, every motion proven clear before it is applied."""

__version__ = "0.1.0"
