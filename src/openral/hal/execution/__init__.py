"""How a chunk is executed: row by row, then hold."""
