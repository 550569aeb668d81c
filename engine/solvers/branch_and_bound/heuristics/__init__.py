"""Searches for good flowshop schedules on devices, without a proof."""
