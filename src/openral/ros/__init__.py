"""ROS 2 without a ROS installation: types, transport, nodes, time and transforms."""
