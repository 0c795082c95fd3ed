"""Routines -> callable code: the NumPy reference interpreter and machine code through LLVM."""
