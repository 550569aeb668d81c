"""HiGHS: presolve, whole solves and crossover, in this process or in a child process."""
