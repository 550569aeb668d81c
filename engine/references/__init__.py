"""Reference implementations in NumPy, for tests and benchmarks only."""
