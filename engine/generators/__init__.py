"""Random instances, by solver."""
