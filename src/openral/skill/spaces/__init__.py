"""From observations and actions of a policy to SI units of one robot, and back."""
