"""What runs on the devices: their rows, chains, matrices and programs, and the workers that hold these."""
