"""The graph: which nodes, in which order, on which clock; starts and supervises them."""
