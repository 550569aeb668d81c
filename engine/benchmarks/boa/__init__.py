"""Benchmarks of the Bayesian optimization algorithm."""
