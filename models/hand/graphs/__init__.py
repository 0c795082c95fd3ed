"""Graphs of the hand: parameters and a start posture in; fingers, contacts, object and controller as one bond graph out."""
