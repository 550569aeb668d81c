"""A run in a child process of its own."""
