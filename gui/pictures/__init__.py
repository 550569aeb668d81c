"""Pictures of solutions: Gantt chart, tour, board, network."""
