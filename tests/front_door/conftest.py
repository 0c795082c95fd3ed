"""Scripts that tests run are excluded from the search for doctests, which would run them too."""

collect_ignore = ["scripts", "idioms"]
