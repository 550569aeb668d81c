"""The main window and its controllers."""
