"""Inner modules that tests look into, one facade a room: when a module moves, its facade alone changes."""
