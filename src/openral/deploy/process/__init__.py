"""Processes of nodes: started, followed and ended."""
