"""The hardware abstraction: one contract for twins, scenes and real robots; see protocols.py."""
