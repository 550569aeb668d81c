"""Benchmarks of branch and bound."""
