"""Twelve models of at most 25 lines, written from the documentation alone: `docs/twelve_models.md`."""
