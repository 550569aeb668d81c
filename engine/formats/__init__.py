"""Readers and writers of the text formats instances come in: one module or package per family of files."""
