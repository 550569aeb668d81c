"""Proofs of optimality as files: made by ``quintet reproduce flowshop``, checked by ``quintet verify``."""
