"""OpenCL devices through PyOpenCL; CPUs through PoCL."""
