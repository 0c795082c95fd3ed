"""What happens at one instant: impulses and collisions at events, and times at which signals of time alone break."""
