"""Episodes of a skill in simulated scenes, without a graph."""
