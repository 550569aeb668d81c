"""The engine from Python: its functions, and the class :class:`Engine`."""
