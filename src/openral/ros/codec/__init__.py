"""The message codec: ROS type definitions, message classes and CDR serialization."""
