"""NVIDIA GPUs through PyCUDA."""
