"""Batch runs (ensembles): bind settings once, then run one model many times on threads and SIMD lanes."""
