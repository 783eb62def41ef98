"""Transports: DDS and in-process delivery of serialized messages."""
