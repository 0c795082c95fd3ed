"""Event handling in Python, the reference of the machine code in `events`: equal bits, for tests and runs."""
