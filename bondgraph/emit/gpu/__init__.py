"""Code of a GPU: procedures for memory that is known, what of it they store to, and PTX."""
