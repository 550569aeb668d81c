"""The Bayesian optimization algorithm."""
