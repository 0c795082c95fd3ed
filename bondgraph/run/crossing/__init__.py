"""Passing of singular positions with unchanged velocities."""
