"""Where runs work beyond this process: clusters and other hosts."""
