"""Functions in plain typed Python that CPython runs unchanged and that are translated to machine code."""
