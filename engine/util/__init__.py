"""Files, texts and paths: what every room may use."""
