"""Studies of the delta robot: linear analysis, tracking, soft touch, and runs."""
