"""Choosing a problem and its options: start page, gallery, form, new instances."""
