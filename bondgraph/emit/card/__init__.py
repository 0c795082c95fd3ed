"""Code of a graphics card: procedures for memory that is known, what of it they store to, and PTX."""
