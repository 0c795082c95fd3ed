"""Scalar straight-line code: traced once, shared, differentiated and handed to an emitter."""
