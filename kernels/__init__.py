"""Kernel sources: Mako templates in the dialect common to OpenCL C 1.2 and CUDA C++, one folder a solver."""
