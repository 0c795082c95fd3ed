"""Passes: a `System` in; the same with one name for each value, in order of evaluation, with all shapes known, out."""
