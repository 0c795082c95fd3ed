"""Bond graphs of the delta robot and its controllers, as arms or as rigid bodies."""
