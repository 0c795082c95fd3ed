"""Taylor series method: coefficients by recurrences, up to an order that depends on the tolerance."""
