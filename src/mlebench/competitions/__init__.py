"""The built-in competitions, a folder each; and `utils`, which prepare and grade files written for v1 import."""
