"""The desktop app: a window that solves problems through ``quintet`` and shows every run live (``quintet gui``)."""
