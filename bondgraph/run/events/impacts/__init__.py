"""Simultaneous impacts: bodies that collide at one instant in; impulses within friction cones, and who takes part, out."""
