"""Scalar straight-line code: formulas in, every distinct operation once; routines, derivatives and values out."""
