"""Bridges: one kind of data each between a HAL and the graph, attached by capability."""
