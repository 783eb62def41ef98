"""The safety kernel's ROS node."""
