"""The kernel as a node."""
