"""Pictures of the bond graph itself."""
