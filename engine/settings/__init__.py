"""Settings in layers, and where each value came from."""
