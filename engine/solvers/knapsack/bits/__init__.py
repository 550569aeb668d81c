"""Subset sums: profits in proportion to weights, and a row of one bit for every capacity."""
