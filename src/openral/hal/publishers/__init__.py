"""What the HAL's node publishes: one kind of data each, attached by capability."""
