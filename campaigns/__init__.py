"""Campaigns: random searches for what must not happen, each run by `python -m campaigns.<name> --count N --seed S`.

The suite runs a small sample of each.
"""
