"""Publishers of the HAL node: one kind of data each, attached by capability."""
