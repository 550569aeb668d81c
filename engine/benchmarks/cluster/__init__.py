"""Benchmarks of runs on a cluster."""
