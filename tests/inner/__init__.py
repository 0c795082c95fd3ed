"""Internal modules that tests use, one facade per subpackage: when a module moves, only its facade changes."""
