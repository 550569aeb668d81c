"""A package, so that no other package called `tests` is imported instead."""
