"""Events of a traced system: jumps of states by impulses, simultaneous collisions, Painlevé's paradox, and time events."""
