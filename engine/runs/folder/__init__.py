"""The folder of a run: checkpoints, results, and who may write."""
