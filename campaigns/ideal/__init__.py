"""Random models of ideal elements and the independent programs that judge them; the judges import nothing from this project."""
