"""Runs side by side in the lanes of vectors: tables of as many runs alone, and what is asked of many, in; their ends out."""
