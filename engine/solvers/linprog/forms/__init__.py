"""Forms of a linear program that methods work on, and the ways back to the program as given."""
