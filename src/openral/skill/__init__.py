"""Skills: what decides how the robot moves. A skill never touches a robot or a simulator itself."""
