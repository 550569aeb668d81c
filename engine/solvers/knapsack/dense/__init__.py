"""Dense dynamic programming: a row with one value for every capacity, after each prefix of the items."""
