"""Commands that talk to any ROS 2 graph."""
