"""Interface files of standard ROS packages: the services and actions that openral's nodes use."""
