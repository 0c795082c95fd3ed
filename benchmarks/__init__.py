"""Comparisons of speed with hand-written C and other programs."""
