"""Nodes in the shape of rclpy: publishers, subscriptions, services, timers, executors."""
