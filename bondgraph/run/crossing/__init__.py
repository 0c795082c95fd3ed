"""Singular positions passed with the velocities kept."""
