"""Interactive pages: one HTML file that opens offline, with bodies, bond graph and plots driven by one time slider."""
