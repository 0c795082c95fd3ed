"""Scalar straight-line code (a tape): record formulas with every distinct operation once, differentiate and interpret them."""
