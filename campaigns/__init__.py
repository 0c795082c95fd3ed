"""Campaigns: random searches for violations of a rule, each run by `python -m campaigns.<name> --count N --seed S`.

The suite runs a small sample of each.
"""
