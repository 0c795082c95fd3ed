"""Error control in Python, the reference of the machine code in `accuracy`: equal bits, for tests and Python runs."""
