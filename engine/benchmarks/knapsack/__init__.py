"""Benchmarks of the knapsack solver."""
