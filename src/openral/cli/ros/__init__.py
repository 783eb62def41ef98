"""Commands that inspect and control any ROS 2 graph."""
