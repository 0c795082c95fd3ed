"""What is run by tests here is no test itself: a look for doctests would run it."""

collect_ignore = ["scripts", "idioms"]
