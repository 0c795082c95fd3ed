"""Event handling: zero crossings of guards, event iteration, transitions, impacts and mode changes."""
