"""Which entries of a matrix are not zero, in; what follows from that alone, whatever their values are, out."""
