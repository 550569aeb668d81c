"""Interior-point methods: the method on the host, its operations on devices, its linear systems."""
