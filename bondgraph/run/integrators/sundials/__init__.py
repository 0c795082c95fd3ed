"""CVODE of SUNDIALS, called with the addresses of machine code."""
