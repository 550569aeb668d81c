"""Audits of optima and proofs that there is none, computed on the host from the program as given."""
