"""From a kernel template to compiled kernels that are called by name."""
