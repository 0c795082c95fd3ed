"""Event handling: guards and states in; event times, event iteration, transitions, impacts and mode changes out."""
