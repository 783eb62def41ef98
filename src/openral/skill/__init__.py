"""Skills decide how the robot moves; they never access a robot or a simulator directly."""
