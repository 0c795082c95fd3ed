"""Validity checks of batch runs, in machine code."""
