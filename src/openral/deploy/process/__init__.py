"""Node processes: starting, monitoring and ending them, and their logs."""
