"""Linear systems with A Theta A^T: dense, sparse on the host, multifrontal on a device, or by updates."""
