"""Benchmark workloads for the safety kernel: verdict times and refusals."""
