"""Simulators of others, exactly as published, behind the contract of rollouts."""
