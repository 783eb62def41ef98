"""Managed nodes: their state machine, and the program that runs one."""
