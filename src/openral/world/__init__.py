"""The world model: voxel maps from depth sensors, and the world state that skills read."""
