"""Linear systems in machine code: choose the cheapest layout of a sparsity pattern, factorise (LU) and solve."""
