"""Random models of ideal elements, and programs that check the models and import nothing from this project."""
