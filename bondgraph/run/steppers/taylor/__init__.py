"""Taylor series method: coefficients by recurrences, of an order that follows from the tolerance."""
