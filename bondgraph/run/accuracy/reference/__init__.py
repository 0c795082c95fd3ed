"""Error control in plain Python: what `accuracy` does in machine code in; the same bits, for tests and Python runs, out."""
