"""Readers and writers of the text formats instances come in: one module per family of files."""
