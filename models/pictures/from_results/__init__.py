"""Scenes from results: solids, contacts, frames, coils and panels of a run."""
