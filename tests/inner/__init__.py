"""Inner modules that tests use, one facade per room: when a module moves, only its facade changes."""
