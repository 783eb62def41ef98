"""Publishers of sensor data: images, depth, point clouds and scans, each at its own rate."""
