"""Algebra: statements and symbols in; values as expressions that can be read, exactly, with what is long defined apart, out."""
