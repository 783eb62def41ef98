"""The HAL's side of the safety gate, and what it reports."""
