"""mini-swe-agent with words for this task and a shell that bears long programs.

The tool itself is used by its Python interface. Importing these modules doesn't import the tool.
"""
