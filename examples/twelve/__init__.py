"""Twelve models of at most 25 lines each, written with only the documentation at hand: `docs/twelve_models.md`."""
