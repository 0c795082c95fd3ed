"""Validation of a finished run: can its solution be trusted, and where did constraints lose rank?"""
