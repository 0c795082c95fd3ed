"""What all work on a tape stands on: a system with its tape and samples, values by name, and what jumps."""
