"""The problem classes of branch and bound, each with its search tree on the host and its functions for kernels."""
