"""From a source to prepared data.

`files` holds the steps that competitions' `prepare.py` are made of, `synthetic` those of their twins; single kinds of
files (archives, tables too large for memory, pictures, BSON, TFRecord …) have modules of their own.

`sources` says where raw files come from, `kaggle` is what talks to Kaggle. `engine` prepares one competition,
`pipeline` many at once; `verification` tells whether data are what they should be, `disk` what they take.
"""
