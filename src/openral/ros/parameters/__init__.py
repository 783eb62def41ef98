"""Node parameters: storage, services and declaration."""
