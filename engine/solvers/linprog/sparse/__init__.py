"""Sparse matrices on the host: products by a fixed pattern, columns with many entries, factors by libraries."""
