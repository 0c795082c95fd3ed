"""Filling: a result in; solids, touches, frames, coils and panels, and a scene of all of them, out."""
