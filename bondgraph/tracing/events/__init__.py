"""Events of a traced system: jump conditions of states by impulses, simultaneous collisions, Painlevé paradox, time events."""
