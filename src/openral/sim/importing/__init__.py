"""From an MJCF or URDF model to a robot manifest."""
