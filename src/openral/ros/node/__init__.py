"""Nodes with rclpy's interface: publishers, subscriptions, services, timers, executors."""
