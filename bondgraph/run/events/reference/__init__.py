"""Event handling in Python: the reference of the machine code in `events`, with the same bits, for tests and runs."""
