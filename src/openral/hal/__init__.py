"""The hardware abstraction layer (HAL): one contract for twins, scenes and real robots."""
