"""On a tape: a system and its inputs in; what all who trace stand on - its values by name, at samples, what jumps - out."""
