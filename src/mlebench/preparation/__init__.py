"""From a source to prepared data.

`files` holds the steps that competitions' `prepare.py` are made of, `synthetic` those of their twins.
"""
