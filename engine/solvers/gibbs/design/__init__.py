"""The columns that are sampled, how devices store their rows, and the directions along which chains move slowly."""
