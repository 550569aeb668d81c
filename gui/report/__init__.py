"""Reports and plot files for other programs."""
