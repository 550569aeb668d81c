"""HiGHS's branch and bound, in a child process that can be ended at any time."""
