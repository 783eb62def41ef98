"""Executes chunks: row by row, then holding position."""
