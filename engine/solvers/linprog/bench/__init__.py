"""``quintet bench linprog``."""
