"""Batch runs (ensembles): settings bound once in; many runs of one model, on threads and SIMD lanes, out."""
