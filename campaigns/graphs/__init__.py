"""Graphs drawn at random, and what they must do by independent algebra: shared by campaigns and tests."""
