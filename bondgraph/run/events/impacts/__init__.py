"""Simultaneous impacts of bodies: participants, impulses within friction cones, and the transitions that fire."""
