"""Runs of the hand and their grasp analysis over time."""
