"""Graphs drawn at random, and their behaviour by independent algebra, for campaigns and tests."""
