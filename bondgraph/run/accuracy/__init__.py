"""Error control: a program and its tolerances in; error weights, natural scales and rounding noise of every state out."""
