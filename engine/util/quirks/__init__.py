"""What goes round the ways of other people's software: a module each, with the version it was seen in and its worth.

``tests/devices/test_quirks.py`` fails, or skips with a line that says so, where one is not needed any more.
"""
