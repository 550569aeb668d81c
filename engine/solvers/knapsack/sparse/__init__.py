"""Block-sparse dynamic programming: tiles of capacities, only where a state is reachable and can still win."""
