"""Readers and writers of files. A file that cannot be read is a ``ProblemError``, with path and line."""
