"""Evaluation of skills: episodes in simulated scenes, without the graph."""
