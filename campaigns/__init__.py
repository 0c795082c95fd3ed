"""Campaigns: random searches for faults, and comparisons with other programs, each run by `python -m campaigns.<name>`."""
