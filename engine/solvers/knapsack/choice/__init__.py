"""Problems in which each stage takes one of several options: multiple choice, and two constraints."""
