"""``quintet bench``: measurements, by solver."""
