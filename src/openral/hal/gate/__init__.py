"""The HAL's side of the safety gate, and its reports."""
