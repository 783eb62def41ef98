"""ROS actions, client and server: long-running goals with feedback, result and cancellation."""
