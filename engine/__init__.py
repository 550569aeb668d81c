"""Quintet: five GPU algorithms behind one engine."""
