"""The iterations of the kernels ``gibbs``, ``px`` and ``hmc``."""
