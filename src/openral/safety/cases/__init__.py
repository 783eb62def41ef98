"""Recorded stops, so that they can be examined afterwards."""
