"""Random models of ideal elements, and the programs that check them, which import nothing from this project."""
