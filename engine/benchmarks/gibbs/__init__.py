"""Benchmarks of the Gibbs sampler."""
