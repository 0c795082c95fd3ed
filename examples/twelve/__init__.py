"""Twelve models of at most 25 lines each, written from the pages alone: `docs/twelve_models.md`."""
