"""Skills that ship, and what they are made of."""
