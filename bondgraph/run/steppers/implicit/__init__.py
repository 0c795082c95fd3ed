"""What implicit methods for stiff models share: Jacobian and linear systems, growing modes, integrated powers."""
