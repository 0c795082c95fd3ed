"""Looks at a finished run in machine code: rows of its samples in; whether it is beyond doubt, out."""
