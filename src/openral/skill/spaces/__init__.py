"""Converts states and actions between a policy's units and the SI units of one robot."""
