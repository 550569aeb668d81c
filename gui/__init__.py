"""The desktop app: a client of the command line that reads its JSON lines."""
