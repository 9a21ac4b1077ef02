"""Raw files, and facts about competitions, from Kaggle.

A client of our own over httpx, not the official `kaggle` package: that one ends the process where it finds no
credentials, makes a folder when it is imported, has the unfinished archive under its final name without a lock, and
brings thirty packages; the few calls needed here are plain JSON over HTTP. Importing this package does nothing.
"""
