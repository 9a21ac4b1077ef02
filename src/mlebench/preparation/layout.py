"""What preparations keep in a competition's folder of a data directory, beside the prepared files, and its names."""

LOCK = ".lock"  # held while one process works there
WORK = ".preparing-"  # prefix of the folders in which one works; without the lock, what a killed one left
FETCHING = ".fetching"  # raw files of a source that goes on where it stopped
ORIGIN = ".fetching.json"  # what these are made from, and whether they are whole
PLAN = ".finishing.json"  # what is left to do of a preparation that is whole
SCRATCH = ".unpacked"  # below raw files: inner archives unpacked, which Kaggle does not ship so
RAW_RECORD = "raw.json"  # what kept raw files are, to verify them
