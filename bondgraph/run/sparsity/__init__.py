"""Jacobian sparsity: connected components, cycles and ear decomposition of the pattern of a matrix."""
