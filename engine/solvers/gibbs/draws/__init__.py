"""The kept draws: how they are stored, whether they have converged, and the posterior made of them."""
