"""Validity checks of batch runs, in machine code: samples of a finished run in; whether it can be trusted out."""
