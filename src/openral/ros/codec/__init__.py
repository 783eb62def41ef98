"""ROS types: from definitions to message classes and bytes."""
