"""The package of the desktop app, which will be a client of the command line; there is nothing in it yet."""
