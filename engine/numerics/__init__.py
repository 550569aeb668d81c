"""Building blocks the solvers share: each has a device half (a kernel template) and a NumPy twin."""
