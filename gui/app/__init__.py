"""The application: start, style, theme, icons, and work off the window's thread."""
