"""How each dialect of the language models' interfaces is read and written; nothing here knows an engineer."""
