"""Kept: names, and perhaps a sink, in; a run that keeps their values alone, and is judged as any other, out."""
