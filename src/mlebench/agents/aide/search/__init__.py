"""AIDE without its screen, and with what it lacks: the best node's submission is in place at every moment.

The tool itself is used by its Python interface. What is added around it: `submissions` keeps the file that each node
wrote and hands in the best one's, `tree` survives programs that die and reviews that can't be read, `previews` bounds
what is told about the data, `run` ends tidily. Importing these modules doesn't import the tool.
"""
