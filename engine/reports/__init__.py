"""Reports of measurements: what was measured, on which machine, beside what a publication reports.

``study`` runs a reproduction, ``report`` holds and writes what it found, ``record`` keeps the tables of a benchmark,
``machine`` describes the machine, and ``figures`` draws (with matplotlib, an optional package).
"""
