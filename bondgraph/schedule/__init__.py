"""Large models: sorted statements -> loops of shared kernels over index tables, with the signatures of straight-line code."""
