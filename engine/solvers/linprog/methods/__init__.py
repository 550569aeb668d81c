"""The methods that work on a program at the same time; the solver's loop polls them and ends them."""
