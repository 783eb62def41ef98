"""Converts requests from the graph to candidate chunks, which the kernel judges."""
