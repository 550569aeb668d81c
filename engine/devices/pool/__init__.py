"""Devices on threads of their own, and one worker object on each."""
