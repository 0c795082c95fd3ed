"""Output: files and folders that are whole or not there, and the packages that only some of them need."""
