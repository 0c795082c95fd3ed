"""Event handling in plain Python: what `events` does in machine code in; the same bits, for tests and for runs that go on in
Python, out."""
