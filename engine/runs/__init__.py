"""One run: its clock, events, observers and folder."""
