"""Derivatives of routines without a compiler: a routine in; a kernel of its derivatives, interpreted, out."""
