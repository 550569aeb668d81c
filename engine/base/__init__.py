"""What a solver is written against: problems, results, declarations, schemas."""
