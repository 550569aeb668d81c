"""Figures: curves, charts, axes, legends, tables, export."""
