"""Passage through singular positions with unchanged velocities."""
