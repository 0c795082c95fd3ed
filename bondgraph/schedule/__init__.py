"""Large models: sorted statements in; loops of shared kernels, with the signatures of straight-line code, out."""
