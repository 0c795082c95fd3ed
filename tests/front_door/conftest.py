"""Files here that tests run are not tests themselves: a search for doctests would run them."""

collect_ignore = ["scripts", "idioms"]
