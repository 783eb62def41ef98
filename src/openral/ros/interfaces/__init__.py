"""Interface files of standard ROS packages: the services and actions our nodes speak."""
