"""Instants: a traced system in; how states jump at an event, and times at which signals of time alone break, out."""
