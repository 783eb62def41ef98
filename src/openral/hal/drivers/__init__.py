"""HALs of real robots."""
