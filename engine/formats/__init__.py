"""Readers and writers of files; a file that cannot be read or breaks its format is a `ProblemError` with path and line."""
