"""Building blocks of simulated scenes."""
