"""HALs of simulated robots, and the thread that steps them."""
