"""Workloads that the kernel's speed and refusals are measured on."""
