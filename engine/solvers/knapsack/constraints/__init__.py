"""Knapsacks with any number of constraints: reduction by multipliers, branch and bound on devices, HiGHS, a table."""
