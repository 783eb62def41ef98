"""The whole graph in one thread, on simulated time."""
