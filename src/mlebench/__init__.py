"""MLE-bench: machine-learning engineering tasks for agents, graded against human leaderboards."""

__version__ = "0.1.0"
