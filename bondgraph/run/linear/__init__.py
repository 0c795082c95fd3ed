"""Solve linear systems in machine code: a sparsity pattern in; the cheapest layout, LU factors and solutions out."""
