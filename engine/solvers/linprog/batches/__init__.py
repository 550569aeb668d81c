"""Many linear programs of equal shape, solved together."""
