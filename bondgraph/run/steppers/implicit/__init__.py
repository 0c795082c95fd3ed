"""Shared parts of implicit methods: Jacobian and linear systems, growing modes, and integrated powers."""
