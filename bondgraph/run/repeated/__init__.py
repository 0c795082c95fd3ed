"""Runs that differ in their numbers only: a program and settings, bound once, in; run after run, or many at once, out."""
