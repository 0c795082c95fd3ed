"""Grasp analysis and start posture of the hand."""
