"""Many small problems at once: a work-group of the device solves a whole one."""
