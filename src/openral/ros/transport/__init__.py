"""The wire: moves bytes and knows nothing of messages."""
