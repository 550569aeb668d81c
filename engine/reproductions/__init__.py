"""``quintet reproduce``: the papers' figures and tables, measured again."""
