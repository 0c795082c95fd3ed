"""Functions of plain typed Python that CPython runs as they stand, and of which machine code is made."""
