"""A population on one device: its memory, its programs, and the phases of a generation."""
