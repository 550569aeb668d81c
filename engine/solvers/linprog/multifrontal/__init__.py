"""Sparse Cholesky factors of normal equations on a device, by the multifrontal method."""
