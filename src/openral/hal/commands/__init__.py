"""Requests from the graph that become chunks for the kernel to judge."""
