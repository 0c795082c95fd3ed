"""Twelve models of at most 25 lines, written from documentation alone: `docs/twelve_models.md`."""
