"""Error control of a run: error weights, natural scales and rounding noise of every state."""
