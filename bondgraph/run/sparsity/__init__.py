"""Jacobian sparsity: the pattern of a matrix in; its connected components, cycles and ear decomposition out."""
