"""Scalar straight-line code (a tape): record formulas so that each distinct operation occurs once, and differentiate and
interpret them."""
