"""Runs: the library on disk, the run list, child processes, replay, and the tab of a run."""
