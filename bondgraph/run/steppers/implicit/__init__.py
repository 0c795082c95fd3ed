"""Shared parts of implicit methods: Jacobian and linear systems, growing modes, integrated powers."""
