"""The world that the robot believes in: depth to voxels, and the state that skills read."""
