"""Large models of identical parts: build the system and its numbered statements in arrays over the instances of each pattern."""
