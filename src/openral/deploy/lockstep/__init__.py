"""Lock-step: the whole graph on one thread, on simulated time."""
