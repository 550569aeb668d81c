"""``quintet bench start``: cold starts, what they build and how long they take."""
